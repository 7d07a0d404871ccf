"""The files by which TORCS is told what to show: written for every host anew, into its scratch folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from xml.sax.saxutils import quoteattr

DRIVER = "framedream"
ENDLESS_LAPS = 100_000

Section = Mapping[str, "Section | str | float"]


@dataclass(frozen=True)
class Camera:
    """One of TORCS' cameras, by the list it is in and its number there."""

    head: int
    number: int
    settling: int = 1
    """Pictures until it stands where it will stay when the car does not move."""


CAMERAS = {
    "road": Camera(0, 4),
    "bonnet": Camera(0, 2),
    "chase": Camera(0, 0, settling=30),
}


@dataclass(frozen=True)
class Scene:
    """What a host shows. Nothing of it can be changed while it runs."""

    height: int
    width: int
    samples: int
    camera: str
    track: str
    kind: str
    car: str
    wreck_damage: int


def configuration_files(scene: Scene) -> dict[str, str]:
    """Every file of TORCS' own folder, by its path in it."""
    return {
        "race.xml": _file(DRIVER, race(scene)),
        f"drivers/{DRIVER}/{DRIVER}.xml": _file(DRIVER, {"Robots": {"index": {"1": driver(scene)}}}),
        "config/screen.xml": _file("screen", screen(scene)),
        "config/graph.xml": _file("graph", graphics(scene)),
        "config/raceengine.xml": _file("", {"Modules": {"track": "track", "simu": "simuv2", "graphic": "ssggraph"}}),
        "config/sound.xml": _file("sound", {"Sound Settings": {"state": "disabled"}}),
    }


def race(scene: Scene) -> Section:
    """An endless practice of one car. Fuel is not used up, so that an episode can be as long as it likes."""
    return {
        "Header": {"name": DRIVER},
        "Tracks": {"maximum number": 1, "1": {"name": scene.track, "category": scene.kind}},
        "Races": {"1": {"name": DRIVER}},
        DRIVER: {
            "type": "practice",
            "laps": ENDLESS_LAPS,
            "starting order": "drivers list",
            "restart": "yes",
            "display mode": "normal",
            "display results": "no",
            "maximum dammage": scene.wreck_damage,
            "fuel consumption factor": 0,
        },
        "Drivers": {
            "maximum number": 1,
            "focused module": DRIVER,
            "focused idx": 1,
            "1": {"module": DRIVER, "idx": 1},
        },
    }


def driver(scene: Scene) -> Section:
    """Who drives. Not a rookie: TORCS lets those off damage."""
    return {"name": DRIVER, "car name": scene.car, "race number": 1, "skill level": "semi-pro"}


def screen(scene: Scene) -> Section:
    """The window's size, and fonts: speed and gear larger than usual, so that 180 pixels are enough to read them."""
    return {
        "Screen Properties": {
            "x": scene.width * scene.samples,
            "y": scene.height * scene.samples,
            "bpp": 24,
            "fullscreen": "no",
            "gamma": 2,
        },
        "Menu Font": {"size big": 16, "size large": 12, "size medium": 9, "size small": 7},
        "Console Font": {"size big": 14, "size large": 16, "size medium": 6, "size small": 5},
        "Digital Font": {"size big": 9},
    }


def graphics(scene: Scene) -> Section:
    """TORCS' usual picture with the dials, without boards, maps and mirrors."""
    camera = CAMERAS[scene.camera]
    nothing_else = ("driver board", "leader board", "debug info", "G graph", "map mode", "enable mirror", "arcade")
    return {
        "Graphic": {
            "smoke value": 300,
            "smoke interval": 0.01,
            "smoke duration": 2,
            "skid value": 100,
            "skid length": 300,
            "skid interval": 0.05,
            "fov factor": 2,
            "wheel rendering": "detailed",
        },
        "Display Mode": {
            "number of screens": 1,
            "0": {
                "camera": camera.number,
                "camera head list": camera.head,
                "driver counter": 1,
                **dict.fromkeys(nothing_else, 0),
            },
        },
    }


def _file(name: str, sections: Section) -> str:
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<params name={quoteattr(name)} type="param" mode="mw">']
    return "\n".join([*lines, *_lines(sections), "</params>", ""])


def _lines(section: Section) -> list[str]:
    lines = []
    for name, value in section.items():
        if isinstance(value, Mapping):
            lines += [f"<section name={quoteattr(name)}>", *_lines(value), "</section>"]
        elif isinstance(value, str):
            lines.append(f"<attstr name={quoteattr(name)} val={quoteattr(value)}/>")
        else:
            lines.append(f'<attnum name={quoteattr(name)} val="{value}"/>')
    return lines
