"""What the tables of the fast path's benchmarks share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from framedream.cli.bench_output import mention_other_programs

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from framedream.cli.bench_output import Measured


def prepare(table: Table, title: str) -> None:
    """A title, and names that are never cut."""
    table.title, table.title_justify, table.caption_justify = title, "left", "left"
    table.columns[0].no_wrap = True


def say_failure(table: Table, name: str, failure: str) -> None:
    """In the row that something failed, and below the table what."""
    table.add_row(name, "failed")
    table.caption = "\n".join(filter(None, (str(table.caption or ""), f"{name}: {failure}")))


def way_in_words(row: dict[str, Any]) -> str:
    """How it was computed; nothing where it did not come so far."""
    if row.get("way") == "fast":
        return f"fast {row['precision']}"
    return str(row.get("way", ""))


def times(row: dict[str, Any]) -> str:
    """How many times as fast as the straightforward version."""
    return f"{row['faster']:.2f}×" if "faster" in row else ""


def wanted_in_words(row: dict[str, Any]) -> str:
    """What the project asks of the figures of this row."""
    words = {"faster": "≥ {:g}×", "of_synthetic": "≥ {:g}"}
    return ", ".join(words.get(name, "≥ {:,.0f}").format(value) for name, value in row["wanted"].items())


def say_what_it_ran_on(console: Console, measured: Measured) -> None:
    """The device, its own rate, the machine, and other programs."""
    from framedream.benchmarks.machine import machine_in_words

    machine = measured["machine"]
    rates = ", ".join(f"{rate / 1e12:,.2f} in {kind}" for kind, rate in measured["operations_per_second"].items())
    console.print(f"On {machine['device']}; TFLOP/s of one large product of matrices: {rates}", highlight=False)
    if machine["kind"] == "cpu":
        bfloat16 = machine["bfloat16"] or "none for bfloat16, which is left out"
        said = f"{machine['threads']} threads, {machine['instructions']}, {bfloat16}"
        console.print(f"Computed by {said}", highlight=False)
    console.print(machine_in_words(machine), highlight=False, soft_wrap=True)
    mention_other_programs(console, measured["cores_busy_with_other_programs"], "meanwhile: alone, this is faster.")
