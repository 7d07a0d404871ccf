"""`framedream bench play`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tyro

from framedream.cli.bench_output import measure_and_show
from framedream.errors import UserError


@dataclass(frozen=True)
class PlayArguments:
    """What `framedream bench play` is told."""

    json: bool = False
    """Print JSON for programs."""


def main(arguments: list[str]) -> None:
    """Measure playing: key to drawn frame in Chromium (where it and playwright are installed), and players at once."""
    told = tyro.cli(PlayArguments, args=arguments, prog="framedream bench play", description=main.__doc__)
    try:
        from framedream.benchmarks.play import bench_play
    except ImportError as error:
        raise UserError("Playing in a web page needs: pip install 'framedream[play]'.") from error
    measure_and_show(bench_play, _show, as_json=told.json)


def _show(measured: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    from framedream.benchmarks.machine import machine_in_words

    targets = measured["targets"]
    table = Table("", "measured", "wanted")
    for name in ("small", "paper_size"):
        found = measured[name]
        height, width = found["frame_size"]
        title = f"{name.replace('_', ' ')}, {height}x{width}, {found['parameters'] / 1e6:.1f} million parameters"
        table.add_row(f"{title}: one step", f"{found['step_milliseconds']:.1f} ms", "")
        browser = found["browser"]
        if browser is None:
            table.add_row("… in a browser", "not measured: needs Chromium and playwright", "")
        else:
            wanted = f"≥ {targets['paper_size_rate']}" if name == "paper_size" else ""
            table.add_row(f"… frames/s in the page, {found['asked_rate']} asked", f"{browser['rate']:.0f}", wanted)
            latency = browser["latency_milliseconds"]
            small = name == "small"
            for part, words in (("median", "key to drawn frame, median"), ("p95", "… 95 of 100 within")):
                wanted = f"≤ {targets[f'{part}_milliseconds']} ms" if small else ""
                table.add_row(f"… {words}", f"{latency[part]:.0f} ms", wanted)
        least = min(found["rates"])
        wanted = f"≥ {targets['crowd_rate']}" if name == "small" else ""
        table.add_row(f"… {found['players']} at once, frames/s of the slowest", f"{least:.1f}", wanted)
        table.add_section()
    console = Console()
    console.print(table)
    console.print(machine_in_words(measured["machine"]), highlight=False, soft_wrap=True)
