"""Sizes of files, for people."""

from __future__ import annotations

from pathlib import Path


def size_in_words(size: int) -> str:
    """In megabytes, or in kilobytes where those say more."""
    return f"{size / 1e6:,.1f} MB" if size >= 1e6 else f"{size / 1e3:,.1f} kB"


def folder_size(folder: Path) -> int:
    """The bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
