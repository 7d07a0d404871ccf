"""The report: one file that holds everything, with the numbers of the results."""

from __future__ import annotations

import base64
import html
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from worlds import noise_episodes, rgb_data_set, write_run

from framedream.cli.evaluate import main as evaluate
from framedream.cli.report import main as report
from framedream.errors import UserError
from framedream.evaluation.measure import MODEL
from framedream.evaluation.report.figures import errors_over_training
from framedream.evaluation.report.runs import Point, read_runs
from framedream.evaluation.results import read_results

HORIZON = 12


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two evaluated runs on one data set, and one on another."""
    folder = tmp_path_factory.mktemp("runs")
    found = []
    for name, world, variant in (("first", "one", "base"), ("<second>", "one", "noz"), ("third", "two", "base")):
        if not (folder / world).exists():
            seed = sum(world.encode())
            episodes = [noise_episodes(3, 30, (16, 16), seed + split) for split in range(2)]
            data_set = rgb_data_set(folder / world, *episodes, environment=world)
        run = write_run(folder / name, data_set, variant=variant)
        asked = ["--horizon", str(HORIZON), "--sequences", "8"]
        evaluate([str(run), *asked, "--split", "both" if name == "first" else "test", "--all-checkpoints"])
        write_metrics(run)
        found.append(run)
    return found


def write_metrics(run: Path) -> None:
    rows = [
        {"kind": "training", "updates": n, "frames": n * 100, "loss": 9 / n, "learning_rate": 1e-3} for n in range(1, 9)
    ]
    (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"kind": "trai')


class Page(HTMLParser):
    """What a browser would find: headings, addresses, texts; and whether every element is closed."""

    EMPTY = ("meta", "img", "link", "br", "path", "use", "rect")

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.text = path.read_text()
        self.addresses: list[str] = []
        self.headings: list[str] = []
        self.ids: list[str] = []
        self._open: list[str] = []
        self.feed(self.text)
        assert not self._open, self._open

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("src", "href", "xlink:href", "poster", "data"):
                self.addresses.append(value or "")
            if name == "id":
                self.ids.append(value or "")
        if tag not in self.EMPTY:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.EMPTY:
            return
        assert self._open.pop() == tag, (tag, self.getpos())

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in ("h1", "h2", "h3"):
            self.headings.append(data)


@pytest.fixture(scope="module")
def page(runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Page:
    path = tmp_path_factory.mktemp("page") / "report.html"
    report([*map(str, runs), "--out", str(path)])
    return Page(path)


def test_every_section_is_there(page: Page) -> None:
    once_per_world = (
        "Error at every step", "Does it listen to its actions?", "Salient frames", "How it came about",
        "Configuration and provenance",
    )  # fmt: skip
    for heading in once_per_world:
        assert page.headings.count(heading) == 2, heading
    assert page.headings.count("On other data") == 1
    assert [heading for heading in page.headings if heading in ("one", "two")] == ["one", "two"]
    assert "first" in page.headings and "<second>" in page.headings
    assert page.text.count("<video ") == 3
    assert page.text.count('class="plot"') == 2 * 4


@pytest.mark.parametrize(("horizon", "steps"), [(200, [5, 10, 100]), (30, [5, 10, 30]), (7, [5, 7])])
def test_error_against_frames_seen_is_drawn_at_the_papers_steps(
    horizon: int, steps: list[int], runs: list[Path]
) -> None:
    (run,) = read_runs([runs[0]])
    points = [Point(frames, 1.0, 2.0) for frames in (0, 100, 200)]
    drawn = errors_over_training("frames", [replace(run, over_training=dict.fromkeys(range(1, horizon + 1), points))])
    assert drawn is not None
    assert re.findall(r"Prediction error at step (\d+)", drawn) == [str(step) for step in steps]


def test_it_needs_nothing_from_outside(page: Page) -> None:
    assert (
        "http:" not in page.text and "https:" not in page.text and "//" not in re.sub(r"base64,[\w+/=]+", "", page.text)
    )
    assert page.addresses
    assert all(address.startswith(("data:", "#")) for address in page.addresses)
    # Figures do not take each other's parts.
    assert len(set(page.ids)) == len(page.ids)
    assert {address[1:] for address in page.addresses if address.startswith("#")} <= set(page.ids)
    assert set(re.findall(r"url\(#([^)]+)\)", page.text)) <= set(page.ids)


def test_films_have_the_right_number_of_frames(page: Page, runs: list[Path], tmp_path: Path) -> None:
    import av

    films = [address for address in page.addresses if address.startswith("data:video/mp4;base64,")]
    assert len(films) == 3
    for film in films:
        (tmp_path / "film.mp4").write_bytes(base64.b64decode(film.partition(",")[2]))
        with av.open(str(tmp_path / "film.mp4")) as container:
            stream = container.streams.video[0]
            assert stream.codec_context.name == "h264"
            assert stream.average_rate == 15
            pictures = [frame.to_ndarray(format="rgb24") for frame in container.decode(stream)]
        # Five sequences, black frames between them; two enlarged frames and a strip wide.
        assert len(pictures) == 5 * HORIZON + 4 * 8
        assert pictures[0].shape == (16 * 20, 2 * 16 * 20 + 8, 3)
        black = [number for number, picture in enumerate(pictures) if picture.max() < 20]
        assert black == [gap * (HORIZON + 8) + HORIZON + number for gap in range(4) for number in range(8)]


def test_the_film_shows_predicted_left_and_real_right(runs: list[Path]) -> None:
    from framedream.data.dataset import open_data_set
    from framedream.data.reader import SegmentReader
    from framedream.data.segment import SegmentId
    from framedream.pictures.video import read_video

    folder = runs[0] / "evaluation" / "step-40"
    showcase = read_results(folder).showcase
    assert showcase is not None
    data_set = open_data_set(runs[0].parent / "one")
    pictures = list(read_video(folder / showcase["film"]))
    with SegmentReader(data_set.split("test")) as reader:
        for number, segment in enumerate(showcase["film_sequences"]):
            real = reader.read(SegmentId(**segment)).frames[10:]
            for step in (0, HORIZON - 1):
                shown = pictures[number * (HORIZON + 8) + step]
                centres = shown[10::20, 10::20].astype(int)
                left, right = centres[:, :16], shown[10::20, 328 + 10 :: 20].astype(int)
                # H.264 in YUV is off by a few levels, noise of another time by a hundred.
                assert np.abs(right - real[step]).mean() < 8
                assert np.abs(left - real[step]).mean() > 30


def test_numbers_are_those_of_the_results(page: Page, runs: list[Path]) -> None:
    curve = read_results(runs[1] / "evaluation" / "step-40").measurements[0].curve(MODEL)
    rows = re.findall(r"<tr[^>]*><th scope=\"row\">(.*?)</th>(.*?)</tr>", page.text, re.S)
    texts = [(html.unescape(re.sub("<.*?>", "", name)), cells) for name, cells in rows]
    cells = next(cells for name, cells in texts if name == "<second>")
    numbers = [float(number) for number in re.findall(r"<td>(?:<b>)?([\d.]+)", cells)]
    expected = [curve.error.at(step) for step in (1, 5, 10, 12)]
    assert numbers == pytest.approx(expected, rel=0.005)


def test_runs_on_other_sequences_do_not_share_a_table(page: Page) -> None:
    one, two = page.text.split('id="group-1"')
    assert "third" not in one.partition("<main>")[2].partition("</header>")[2]
    assert "&lt;second&gt;" not in two


def test_sheets_hold_the_real_frames(page: Page) -> None:
    sheet = page.text.partition('class="sheet"')[2].partition("</figure>")[0]
    assert sheet.count("<img ") == 3 * 3  # real and two runs, at steps 1, 10 and 12
    assert sheet.count('alt="real, step 10"') == 1


def test_what_cannot_be_reported_is_said(runs: list[Path], tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    with pytest.raises(UserError, match="named twice"):
        report([str(runs[0]), str(runs[0]), "--out", str(target)])
    with pytest.raises(UserError, match="neither a run nor a checkpoint"):
        report([str(tmp_path), "--out", str(target)])
    untouched = write_run(tmp_path / "untouched", _data_of(runs[0]))
    with pytest.raises(UserError, match="framedream evaluate"):
        report([str(untouched), "--out", str(target)])
    with pytest.raises(UserError, match="is a folder"):
        report([str(runs[0]), "--out", str(tmp_path), "--overwrite"])
    with pytest.raises(UserError, match="cannot be written"):
        report([str(runs[0]), "--out", str(tmp_path / f"{'long' * 70}.html")])
    assert list(tmp_path.glob("*.html")) == []
    target.write_text("mine")
    with pytest.raises(UserError, match="--overwrite"):
        report([str(runs[0]), "--out", str(target)])
    assert target.read_text() == "mine"
    report([str(runs[0]), "--out", str(target), "--overwrite"])
    assert Page(target).headings[0] == "How far can first be trusted?"


def _data_of(run: Path):  # type: ignore[no-untyped-def]
    from framedream.data.dataset import open_data_set

    return open_data_set(read_results(run / "evaluation" / "step-40").measurements[0].source["folder"])
