"""List the training schemes: which frame every transition reads, and for how many updates.

A feed such as o10 p5 means ten transitions that read the observed frame, then five that read the prediction.
PDT is the share of the latter, in the phase that the scheme arrives at.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass

import tyro


@dataclass(frozen=True)
class Schemes:
    """What to list."""

    json: bool = False
    """Print JSON instead of a table."""


def main(arguments: list[str]) -> None:
    """Run `framedream schemes`."""
    wanted = tyro.cli(Schemes, args=arguments, prog="framedream schemes", description=__doc__)
    from framedream.training.scheme import SCHEMES

    if wanted.json:
        print(json.dumps([scheme.to_json() for scheme in SCHEMES.values()], indent=1))
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table("scheme", "updates", "feed", "PDT", "what the paper says", box=SIMPLE_HEAD)
    for scheme in SCHEMES.values():
        updates = "\n".join("rest" if phase.updates is None else f"{phase.updates:,}" for phase in scheme.phases)
        feeds = "\n".join(_brief(phase.feed) for phase in scheme.phases)
        table.add_row(scheme.name, updates, feeds, f"{scheme.fraction:.0%}", scheme.words)
    console = Console()
    console.print(table)
    console.print("Section 3.1 of the paper, Short-Term versus Long-Term Accuracy; `modern` is in docs/training.md.")


def _brief(feed: str) -> str:
    """`ooopp` as "o3 p2"; alternation as it is."""
    if "po" in feed:
        return f"{feed[:4]}…{feed[-1]}"
    return " ".join(f"{letter}{len(list(run))}" for letter, run in itertools.groupby(feed))
