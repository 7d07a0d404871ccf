"use strict";
// The page of `framedream play`: keys to actions, actions to the socket, frames from the socket to two canvases.

const FRAME = 1, FILM = 2, EPISODE = 3, HEADER = 32;
const REAL_OVER = 1, STRANGE = 2, PAUSED = 4, POLICY_PLAYS = 8;
const KEYS = {
  ArrowUp: "up", KeyW: "up", ArrowDown: "down", KeyS: "down", ArrowLeft: "left", KeyA: "left",
  ArrowRight: "right", KeyD: "right", Space: "fire",
};
const WORDS = {
  up: /up|forward|accelerate|gas/, down: /down|backward|brake|reverse/, left: /left/, right: /right/,
  fire: /fire|shoot|jump|attack|toggle/,
};
const NAMES = { up: "↑", down: "↓", left: "←", right: "→", fire: "space" };
const MOST_POINTS = 2000;

const $ = (id) => document.getElementById(id);
const address = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/socket${location.search}`;
const socket = new WebSocket(address);
socket.binaryType = "arraybuffer";
const say = (message) => { if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message)); };

let actions = [], combinations = [], aliases = {}, custom = {}, idle = 0;
let asking = null, chosen = -1, input = 0, pressedAt = new Map(), latencies = [];
let paused = false, policyPlays = false, recording = false, known = false, brokenAt = null, longest = 0, failures = 0;
const held = new Set(), heldActions = new Set();
let points = [];

// Keys to actions ----------------------------------------------------------------------------------------------------

function learnActions(meanings) {
  actions = meanings;
  combinations = meanings.map((meaning) => {
    const words = meaning.toLowerCase();
    return new Set(Object.keys(WORDS).filter((name) => WORDS[name].test(words)));
  });
  idle = Math.max(0, combinations.findIndex((combination) => combination.size === 0));
  // Pong moves its paddle up with RIGHT: where nothing goes up or down, those keys mean right and left.
  const upright = combinations.some((combination) => combination.has("up") || combination.has("down"));
  aliases = upright ? {} : { up: "right", down: "left" };
  try { custom = JSON.parse(localStorage.getItem(storageName())) || {}; } catch { custom = {}; }
}

const storageName = () => `framedream keys ${document.title} ${actions.join()}`;

function wantedAction() {
  for (const action of heldActions) return action;
  for (const code of held) {
    if (custom[code] !== undefined && custom[code] < actions.length) return custom[code];
    const number = /^(Digit|Numpad)([1-9])$/.exec(code);
    if (number && number[2] <= actions.length) return Number(number[2]) - 1;
  }
  const wanted = new Set([...held].map((code) => KEYS[code]).filter(Boolean).map((name) => aliases[name] || name));
  if (wanted.size === 0) return idle;
  let best = idle, most = 0;
  combinations.forEach((combination, action) => {
    const shared = [...wanted].filter((name) => combination.has(name)).length;
    const fit = 3 * shared - (wanted.size - shared) - (combination.size - shared);
    if (shared > 0 && fit > most) [best, most] = [action, fit];
  });
  return best;
}

function update() {
  const action = wantedAction();
  if (action === chosen) return;
  chosen = action;
  input += 1;
  pressedAt.set(input, performance.now());
  if (policyPlays && (held.size || heldActions.size)) takeOver();
  say({ do: "act", action, input });
  for (const [number, box] of [...$("actions").children].entries()) box.classList.toggle("held", number === action);
}

function takeOver() {
  $("policy").value = "";
  say({ do: "policy", name: null });
}

function listActions() {
  const list = $("actions");
  list.replaceChildren(...actions.map((meaning, action) => {
    const box = document.createElement("div"), key = document.createElement("kbd");
    box.className = "action";
    box.append(meaning.toLowerCase(), key);
    key.textContent = keyName(action);
    key.addEventListener("pointerdown", (event) => {
      event.stopPropagation();
      asking = { action, key };
      key.textContent = "press a key";
      key.classList.add("asking");
    });
    box.addEventListener("pointerdown", () => { heldActions.add(action); update(); });
    for (const end of ["pointerup", "pointerleave", "pointercancel"]) {
      box.addEventListener(end, () => { heldActions.delete(action); update(); });
    }
    return box;
  }));
}

function keyName(action) {
  const own = Object.keys(custom).find((code) => custom[code] === action);
  if (own) return own.replace(/^Key|^Digit/, "");
  const names = [...combinations[action]].map((name) => {
    const other = Object.keys(aliases).find((alias) => aliases[alias] === name);
    return NAMES[name] + (other ? NAMES[other] : "");
  });
  return names.length ? names.join(" ") : action === idle ? "no key" : String(action + 1);
}

addEventListener("keydown", (event) => {
  if (asking) {
    event.preventDefault();
    custom[event.code] = asking.action;
    localStorage.setItem(storageName(), JSON.stringify(custom));
    asking = null;
    listActions();
    return;
  }
  if (event.target.tagName === "SELECT" || event.ctrlKey || event.metaKey || event.altKey) return;
  const plays = event.code in KEYS || event.code in custom || /^(Digit|Numpad)[1-9]$/.test(event.code);
  if (plays || event.code === "Space") event.preventDefault();
  if (event.repeat) return;
  if (plays) { held.add(event.code); update(); return; }
  const button = { KeyP: "pause", Period: "one", KeyR: "restart", KeyM: "save", KeyX: "broke" }[event.code];
  if (button) $(button).click();
});
addEventListener("keyup", (event) => { if (held.delete(event.code)) update(); });
addEventListener("blur", () => { held.clear(); heldActions.clear(); if (known) update(); });

// What comes in ------------------------------------------------------------------------------------------------------

socket.onmessage = ({ data }) => {
  if (typeof data === "string") return hear(JSON.parse(data));
  const kind = new Uint8Array(data, 0, 1)[0];
  if (kind === FRAME) show(data);
  if (kind === FILM) keep(data.slice(1), "dream.mp4", "video/mp4");
  if (kind === EPISODE) keep(data.slice(1), "episode.npz", "application/octet-stream");
};
socket.onclose = ({ reason }) => { $("status").textContent = `${reason || "The connection is closed."} Load the page again to play.`; };

function hear(said) {
  if (said.kind === "hello") {
    known = true;
    document.title = `framedream ${said.title}`;
    $("title").textContent = said.title;
    $("rate").value = said.rate;
    $("rate-shown").textContent = said.rate;
    $("status").textContent = `one step takes ${said.step_milliseconds} ms here`;
    $("real-figure").hidden = !said.real;
    document.querySelector(".screens").classList.toggle("alone", !said.real);
    if (!said.real) $("divergence").textContent = `There is nothing to compare with: ${said.no_real}`;
    $("policy-label").hidden = said.policies.length === 0;
    $("policy").append(...said.policies.map((name) => new Option(name, name)));
    learnActions(said.actions);
    listActions();
    update();
  } else if (said.kind === "problem") {
    $("status").textContent = said.words;
    $("policy").value = "";
  } else if (said.kind === "saved") {
    addMoment(said.number, said.step);
  } else if (said.kind === "score") {
    failures = said.failures.length;
    $("failures").textContent = failures;
    if (hear.wantsCard) { hear.wantsCard = false; keep(JSON.stringify(said, null, 1), "score.json", "application/json"); }
  } else if (said.kind === "session") {
    keep(JSON.stringify(said.session), "session.json", "application/json");
  } else if (said.kind === "moved") {
    points = points.filter((point) => point.step <= said.step);
    if (said.step === 0) points = [];
    brokenAt = null;
  } else if (said.kind === "replayed") {
    $("status").textContent = said.same ? `Replayed ${said.steps} steps: every frame is the same.`
      : `Replayed ${said.steps} steps, but the frames differ: another machine or version drew them.`;
  }
}

function show(data) {
  const view = new DataView(data), flags = view.getUint8(1), height = view.getUint16(2, true), width = view.getUint16(4, true);
  const pictures = view.getUint16(6, true), step = view.getUint32(8, true), answered = view.getUint32(12, true);
  const [error, usual, , rate] = [16, 20, 24, 28].map((place) => view.getFloat32(place, true));
  draw($("dream"), new Uint8Array(data, HEADER, height * width * 3), height, width);
  if (pictures > 1) draw($("real"), new Uint8Array(data, HEADER + height * width * 3, height * width * 3), height, width);
  requestAnimationFrame((now) => answer(answered, now));
  paused = Boolean(flags & PAUSED);
  policyPlays = Boolean(flags & POLICY_PLAYS);
  $("pause").textContent = paused ? "Go on" : "Pause";
  $("pause").setAttribute("aria-pressed", paused);
  $("warning").hidden = !(flags & STRANGE);
  $("real-figure").classList.toggle("over", Boolean(flags & REAL_OVER));
  $("real-note").textContent = flags & REAL_OVER ? "· its episode is over" : "";
  $("step").textContent = `· step ${step}`;
  $("achieved").textContent = rate.toFixed(0);
  if (brokenAt === null) longest = Math.max(longest, step);
  $("survived").textContent = longest;
  if (step > 0 && !Number.isNaN(error) && !(flags & REAL_OVER)) {
    points.push({ step, error, usual });
    if (points.length > MOST_POINTS) points.shift();
    drawCurve();
    $("divergence").textContent = Number.isNaN(usual) ? `error ${error.toPrecision(3)} (not evaluated yet)`
      : `error ${error.toPrecision(3)}: ${(error / usual).toFixed(1)} × the usual at this step`;
  }
}

function draw(canvas, rgb, height, width) {
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  const image = new ImageData(width, height), pixels = image.data;
  for (let from = 0, to = 0; from < rgb.length; from += 3, to += 4) {
    pixels[to] = rgb[from]; pixels[to + 1] = rgb[from + 1]; pixels[to + 2] = rgb[from + 2]; pixels[to + 3] = 255;
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
}

// From the key to the animation frame that draws what it did.
function answer(answered, now) {
  for (const [number, began] of pressedAt) {
    if (number > answered) break;
    pressedAt.delete(number);
    const milliseconds = Math.max(0, now - began);
    latencies.push(milliseconds);
    if (latencies.length > 1000) latencies.shift();
    say({ do: "latency", milliseconds });
    const sorted = [...latencies].sort((a, b) => a - b), at = (part) => sorted[Math.floor(part * (sorted.length - 1))];
    $("latency").textContent = `${at(0.5).toFixed(0)} ms, p95 ${at(0.95).toFixed(0)} ms`;
  }
}

function drawCurve() {
  const canvas = $("curve"), pen = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
  const shown = points.slice(-300);
  const highest = Math.max(...shown.map((point) => Math.max(point.error, point.usual || 0))) * 1.1 || 1;
  pen.clearRect(0, 0, canvas.width, canvas.height);
  const line = (value, colour, dashes) => {
    pen.beginPath();
    pen.setLineDash(dashes);
    pen.strokeStyle = style.getPropertyValue(colour);
    pen.lineWidth = 2;
    shown.forEach((point, place) => pen.lineTo((place / 299) * canvas.width, canvas.height * (1 - value(point) / highest)));
    pen.stroke();
  };
  if (!Number.isNaN(shown[0].usual)) line((point) => point.usual, "--faint", [6, 5]);
  line((point) => point.error, "--own", []);
}

// What the buttons do ------------------------------------------------------------------------------------------------

function addMoment(number, step) {
  const button = document.createElement("button"), picture = document.createElement("img");
  picture.src = $("dream").toDataURL();
  picture.alt = `step ${step}`;
  button.append(picture, `step ${step}`);
  button.addEventListener("click", () => say({ do: "back", to: number }));
  $("moments").hidden = false;
  $("moments").append(button);
  if ($("moments").children.length > 24) $("moments").firstChild.remove();
}

function forgetMoments() {
  $("moments").replaceChildren();
  $("moments").hidden = true;
}

function keep(content, name, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

const doing = {
  pause: () => say({ do: "pause", on: !paused }),
  one: () => say({ do: "step" }),
  restart: () => { forgetMoments(); say({ do: "restart" }); },
  save: () => say({ do: "save" }),
  broke: () => { if (brokenAt === null) brokenAt = 0; say({ do: "mark" }); },
  record: () => {
    recording = !recording;
    $("record").textContent = recording ? "Stop and save" : "Record";
    $("record").setAttribute("aria-pressed", recording);
    say({ do: "record", on: recording });
  },
  card: () => { hear.wantsCard = true; say({ do: "score" }); },
  session: () => say({ do: "session" }),
};
for (const [id, act] of Object.entries(doing)) {
  $(id).addEventListener("click", () => { act(); $(id).blur(); });
}
$("rate").addEventListener("input", () => {
  $("rate-shown").textContent = $("rate").value;
  say({ do: "rate", value: Number($("rate").value) });
});
$("rate").addEventListener("change", () => $("rate").blur());
$("policy").addEventListener("change", () => {
  say({ do: "policy", name: $("policy").value || null });
  $("policy").blur();
});
$("replay").addEventListener("change", async () => {
  const [file] = $("replay").files;
  $("replay").value = "";
  if (!file) return;
  try {
    const session = JSON.parse(await file.text());
    forgetMoments();
    say({ do: "replay", session });
  } catch {
    $("status").textContent = "That file is not JSON: choose one saved by Save session.";
  }
});
