"""Everything about a data set that can be checked: its files, what is in them, and that together they are the whole."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from framedream.data.episode import NO_ACTION, ContentHash, Rows
from framedream.data.integrity import Finding, check_files
from framedream.data.manifest import MANIFEST, SPLITS, Manifest, PartEntry, identity_of
from framedream.data.part import FRAMES_PER_CHUNK, SCHEMA, EpisodeEntry
from framedream.data.part_file import PartFile
from framedream.data.recording import Recording
from framedream.errors import UserError

ROWS_AT_ONCE = 8 * FRAMES_PER_CHUNK


@dataclass(frozen=True)
class Verified:
    """What `verify` found: nothing, or one finding per bad file."""

    findings: tuple[Finding, ...]
    manifest: Manifest | None
    """None where the manifest itself is damaged: then the parts cannot be judged."""


def verify(folder: Path | str, on_progress: Callable[[int, int], None] | None = None) -> Verified:
    """Check a data set completely; `on_progress` hears (frames checked, frames in all)."""
    folder = Path(folder)
    try:
        (folder / MANIFEST).stat()
    except OSError:
        Manifest.read(folder)  # which says why it cannot be read: that is wrong usage, and not damage
    try:
        manifest = Manifest.read(folder)
    except UserError as error:
        return Verified((Finding(MANIFEST, str(error).removeprefix(f"{folder / MANIFEST} ").rstrip(".")),), None)

    findings = list(check_files(folder, manifest, hashes=True))
    suspicious = {finding.file for finding in findings}
    sound = [part for part in manifest.parts if part.path not in suspicious]
    hashes: dict[str, list[str]] = {split: [] for split in SPLITS}
    checked = 0
    with ThreadPoolExecutor() as threads:
        # Hashing lets go of Python's lock, so that one part is hashed while the next is decompressed.
        results = threads.map(lambda part: _check(folder, part, manifest.recording), sound)
        for part, result in zip(sound, results, strict=True):
            if isinstance(result, Finding):
                findings.append(result)
            else:
                hashes[part.split] += result
            checked += part.frames
            if on_progress is not None:
                on_progress(checked, sum(part.frames for part in sound))
    if not findings:
        for split in SPLITS:
            if identity_of(hashes[split]) != manifest.identity[split]:
                findings.append(Finding(MANIFEST, f"has another identity than its {split} episodes"))
    return Verified(tuple(findings), manifest)


def _check(folder: Path, part: PartEntry, recording: Recording) -> Finding | list[str]:
    """What is wrong inside a part, or the content hashes of its episodes."""
    try:
        with PartFile(folder / part.path) as file:
            problem = _table_problem(file, part, recording)
            for episode in [] if problem else file.episodes():
                problem = problem or _episode_problem(file, episode, recording)
            return Finding(part.path, problem) if problem else [episode.sha256 for episode in file.episodes()]
    except (OSError, RuntimeError, LookupError, TypeError, ValueError) as error:
        return Finding(part.path, f"cannot be decoded ({error}): restore it from a copy")


def _table_problem(file: PartFile, part: PartEntry, recording: Recording) -> str | None:
    """What does not fit in a part's attributes and table of episodes."""
    if file.schema != SCHEMA:
        return f"has schema {file.schema}, not {SCHEMA}"
    if file.split != part.split:
        return f"holds {file.split} episodes in the {part.split} split"
    if differences := recording.differences(file.recording):
        return f"belongs to another data set ({', '.join(differences)})"
    episodes = file.episodes()
    if [episode.number for episode in episodes] != list(range(part.first_episode, part.first_episode + part.episodes)):
        return f"does not hold episodes {part.first_episode} to {part.first_episode + part.episodes - 1}"
    ends = np.cumsum([episode.length for episode in episodes]).tolist()
    starts = [episode.start for episode in episodes]
    if starts != [0, *ends[:-1]] or not (ends[-1] == file.frames == part.frames):
        return "has a table of episodes that does not fit its frames"
    return None


def _episode_problem(file: PartFile, episode: EpisodeEntry, recording: Recording) -> str | None:
    """What does not fit in the rows of one episode."""
    content = ContentHash(episode.seed, file.palette)
    total = 0.0
    remaining = episode.length
    for rows in file.rows(episode.start, episode.start + episode.length, ROWS_AT_ONCE):
        content.update(rows)
        total += math.fsum(rows.rewards.tolist())
        remaining -= len(rows.frames)
        if problem := _row_problem(rows, remaining, recording):
            return f"has an episode {episode.number} with {problem}"
    if content.hexdigest() != episode.sha256:
        return f"has an episode {episode.number} that is not what its content hash says"
    if not math.isclose(total, episode.total_reward, rel_tol=1e-9, abs_tol=1e-9):
        return f"has an episode {episode.number} whose rewards do not add up to its return"
    return None


def _row_problem(rows: Rows, rows_after: int, recording: Recording) -> str | None:
    """What does not fit in consecutive rows of an episode that has so many rows after them."""
    from_end = rows_after + np.arange(len(rows.actions))[::-1]
    last = from_end == 0
    actions = len(recording.action_meanings)
    if ((rows.actions == NO_ACTION) != last).any() or rows.actions.min() < NO_ACTION or rows.actions.max() >= actions:
        return "an action that does not exist, or one on its last row"
    if ((rows.terminations | rows.truncations) != (from_end == 1)).any():
        return "an ending that is not on its last transition"
    if rows.rewards[last].any():
        return "a reward on its last row"
    return None
