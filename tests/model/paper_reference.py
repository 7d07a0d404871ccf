"""The paper's models once more, in float64 NumPy: an independent reference that knows nothing of `TransitionSpec`.

Every transition is written out from the paper's equations, one sequence and one step at a time; convolutions are
loops over their kernels. All it shares with the package are the weights, found by their names and documented order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

Array = np.ndarray
MEAN_SLOPE = (1 / 8 + 1 / 3) / 2


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def convolve(x: Array, weight: Array, bias: Array, stride: int, padding: tuple[int, int]) -> Array:
    """y[o, i, j] = b[o] + Σ w[o, c, k, l] x[c, stride·i + k - p, stride·j + l - q]."""
    rows, columns = weight.shape[2:]
    x = np.pad(x, ((0, 0), (padding[0],) * 2, (padding[1],) * 2))
    height = (x.shape[1] - rows) // stride + 1
    width = (x.shape[2] - columns) // stride + 1
    y = np.zeros((weight.shape[0], height, width)) + bias[:, None, None]
    for k in range(rows):
        for m in range(columns):
            seen = x[:, k : k + stride * height : stride, m : m + stride * width : stride][:, :height, :width]
            y += np.einsum("oc,chw->ohw", weight[:, :, k, m], seen)
    return y


def full_convolve(
    x: Array, weight: Array, bias: Array, stride: int, padding: tuple[int, int], size: tuple[int, int]
) -> Array:
    """The transpose of a convolution: every cell of x adds its kernel to an image of `size`; w[c, o, k, l]."""
    rows, columns = weight.shape[2:]
    y = np.zeros((weight.shape[1], size[0] + 2 * padding[0] + rows, size[1] + 2 * padding[1] + columns))
    for i in range(x.shape[1]):
        for j in range(x.shape[2]):
            y[:, stride * i : stride * i + rows, stride * j : stride * j + columns] += np.einsum(
                "c,cokl->okl", x[:, i, j], weight
            )
    return y[:, padding[0] :, padding[1] :][:, : size[0], : size[1]] + bias[:, None, None]


class Weights:
    """Parameters of a simulator by the paper's names. `readers` is the order of gates and cell in stacked weights."""

    def __init__(
        self,
        state: Mapping[str, Array],
        cell: str,
        readers: str,
        shape: tuple[int, int, int],
        slopes: Mapping[str, Array],
    ) -> None:
        self.state, self.cell, self.shape, self.slopes = state, cell, shape, slopes
        self.readers = readers.split()

    def _part(self, name: str, reader: str, of: list[str]) -> Array:
        weight = self.state[f"{self.cell}.{name}"]
        return np.split(weight, len(of))[of.index(reader)]

    def W(self, reader: str, stream: str, read_by: str = "all") -> Array:
        """W^{reader stream}; `read_by` says who else reads the stream: all, the gates or the cell."""
        of = {"all": self.readers, "gates": self.readers[:-1], "cell": self.readers[-1:]}[read_by]
        return self._part(f"reads.{stream}.weight", reader, of)

    def b(self, reader: str) -> Array:
        bias = self.state[f"{self.cell}.bias"][self.readers.index(reader)]
        channels, height, width = self.shape
        return np.repeat(bias, height * width) if len(bias) == channels else bias

    def fuse(self, factor: str, stream: str = "v", product: int = 0, reader: str | None = None) -> Array:
        """W^factor of a fused stream, or W^{reader factor} where every reader has its own."""
        kind = "hidden" if factor == "h" else f"others.{factor}"
        name = f"fusions.{stream}.products.{product}.{kind}.weight"
        return self.state[f"{self.cell}.{name}"] if reader is None else self._part(name, reader, self.readers)

    def C(self, reader: str, stream: str, x: Array) -> Array:
        """One 3×3 convolution with padding 1 of a vector that is reshaped into a tensor."""
        return self._convolve(x, self._part(f"reads.{stream}.weight", reader, self.readers))

    def C2(self, reader: str, stream: str, x: Array) -> Array:
        """Two of them with RReLU in between."""
        return self._pair(f"reads.{stream}", reader, self.readers, x)

    def C2_fusion(self, x: Array) -> Array:
        return self._pair("fusions.v.products.0.hidden", "h", ["h"], x)

    def _pair(self, name: str, reader: str, of: list[str], x: Array) -> Array:
        inner = self._convolve(
            x, self._part(f"{name}.inner_weight", reader, of), self._part(f"{name}.inner_bias", reader, of)
        ).reshape(self.shape)
        slopes = self.slopes.get(f"{self.cell}.{name}.rectifier")
        slope = MEAN_SLOPE if slopes is None else np.split(slopes, len(of))[of.index(reader)]
        return self._convolve(rrelu(inner, slope).ravel(), self._part(f"{name}.weight", reader, of))

    def _convolve(self, x: Array, weight: Array, bias: Array | None = None) -> Array:
        bias = np.zeros(len(weight)) if bias is None else bias
        return convolve(x.reshape(self.shape), weight, bias, 1, (1, 1)).ravel()


def rrelu(x: Array, slope: Array | float) -> Array:
    return np.where(x >= 0, x, slope * x)


Step = Callable[[Weights, Array, Array, Array, Array], tuple[Array, Array]]  # (w, h, c, z, a) → h, c


def base(w: Weights, h: Array, c: Array, z: Array, a: Array) -> tuple[Array, Array]:
    v = (w.fuse("h") @ h) * (w.fuse("a") @ a)
    i = sigmoid(w.W("i", "v") @ v + w.W("i", "z") @ z + w.b("i"))
    f = sigmoid(w.W("f", "v") @ v + w.W("f", "z") @ z + w.b("f"))
    o = sigmoid(w.W("o", "v") @ v + w.W("o", "z") @ z + w.b("o"))
    c = f * c + i * np.tanh(w.W("c", "v") @ v + w.W("c", "z") @ z + w.b("c"))
    return o * np.tanh(c), c


def base_with_z_zero(w: Weights, h: Array, c: Array, z: Array, a: Array) -> tuple[Array, Array]:
    v = (w.fuse("h") @ h) * (w.fuse("a") @ a)
    i, f, o = (sigmoid(w.W(gate, "v") @ v + w.b(gate)) for gate in ("i", "f", "o"))
    c = f * c + i * np.tanh(w.W("c", "v") @ v + w.b("c"))
    return o * np.tanh(c), c


def iz_gates(w: Weights, h: Array, z: Array, a: Array) -> tuple[Array, ...]:
    """The fusion and the four gates of iᶻ and iᶻ2816."""
    v = (w.fuse("h") @ h) * (w.fuse("a") @ a)
    i = sigmoid(w.W("i", "v") @ v + w.W("i", "z", "gates") @ z + w.b("i"))
    f = sigmoid(w.W("f", "v") @ v + w.W("f", "z", "gates") @ z + w.b("f"))
    o = sigmoid(w.W("o", "v") @ v + w.W("o", "z", "gates") @ z + w.b("o"))
    iz = sigmoid(w.W("iz", "v") @ v + w.W("iz", "z", "gates") @ z + w.b("iz"))
    return v, i, f, o, iz


def projected(w: Weights, z: Array) -> Array:
    return w.state[f"{w.cell}.encoding_projection.weight"] @ z + w.state[f"{w.cell}.encoding_bias"]


def iz(w: Weights, h: Array, c: Array, z: Array, a: Array) -> tuple[Array, Array]:
    v, i, f, o, iz = iz_gates(w, h, z, a)
    c = f * c + i * np.tanh(w.W("c", "v") @ v + w.b("c")) + iz * np.tanh(projected(w, z))
    return o * np.tanh(c), c


def iz2816(w: Weights, h: Array, c: Array, z: Array, a: Array) -> tuple[Array, Array]:
    v, i, f, o, iz = iz_gates(w, h, z, a)
    c = f * c + i * np.tanh(w.W("c", "v") @ v + w.b("c")) + iz * np.tanh(z)
    return o * np.tanh(c), c


def noz(w: Weights, h: Array, c: Array, z: Array, a: Array) -> tuple[Array, Array]:
    v = (w.fuse("h") @ h) * (w.fuse("a") @ a)
    i = sigmoid(w.W("i", "v") @ v + w.b("i"))
    f = sigmoid(w.W("f", "v") @ v + w.b("f"))
    o = sigmoid(w.W("o", "v") @ v + w.b("o"))
    c = f * c + i * np.tanh(w.W("c", "v") @ v + w.W("c", "z", "cell") @ z + w.b("c"))
    return o * np.tanh(c), c


def noz_iz2816(w: Weights, h: Array, c: Array, z: Array, a: Array) -> tuple[Array, Array]:
    v = (w.fuse("h") @ h) * (w.fuse("a") @ a)
    i = sigmoid(w.W("i", "v") @ v + w.b("i"))
    f = sigmoid(w.W("f", "v") @ v + w.b("f"))
    o = sigmoid(w.W("o", "v") @ v + w.b("o"))
    iz = sigmoid(w.W("iz", "v") @ v + w.b("iz"))
    c = f * c + i * np.tanh(w.W("c", "v") @ v + w.b("c")) + iz * np.tanh(z)
    return o * np.tanh(c), c


def h_gates(w: Weights, h: Array, a: Array) -> tuple[Array, ...]:
    """The fusion and the three gates of h, h–iᶻ and h–iᶻ2816."""
    v = (w.fuse("h") @ h) * (w.fuse("a") @ a)
    i = sigmoid(w.W("i", "v") @ v + w.W("i", "h") @ h + w.b("i"))
    f = sigmoid(w.W("f", "v") @ v + w.W("f", "h") @ h + w.b("f"))
    o = sigmoid(w.W("o", "v") @ v + w.W("o", "h") @ h + w.b("o"))
    return v, i, f, o


def h(w: Weights, h: Array, c: Array, z: Array, a: Array) -> tuple[Array, Array]:
    v, i, f, o = h_gates(w, h, a)
    c = f * c + i * np.tanh(w.W("c", "v") @ v + w.W("c", "h") @ h + w.W("c", "z", "cell") @ z + w.b("c"))
    return o * np.tanh(c), c


def h_iz(w: Weights, h: Array, c: Array, z: Array, a: Array) -> tuple[Array, Array]:
    v, i, f, o = h_gates(w, h, a)
    iz = sigmoid(w.W("iz", "v") @ v + w.W("iz", "h") @ h + w.b("iz"))
    candidate = np.tanh(w.W("c", "v") @ v + w.W("c", "h") @ h + w.b("c"))
    c = f * c + i * candidate + iz * np.tanh(projected(w, z))
    return o * np.tanh(c), c


def h_iz2816(w: Weights, h: Array, c: Array, z: Array, a: Array) -> tuple[Array, Array]:
    v, i, f, o = h_gates(w, h, a)
    iz = sigmoid(w.W("iz", "v") @ v + w.W("iz", "h") @ h + w.b("iz"))
    candidate = np.tanh(w.W("c", "v") @ v + w.W("c", "h") @ h + w.b("c"))
    c = f * c + i * candidate + iz * np.tanh(z)
    return o * np.tanh(c), c


def convolutional(C: Callable[..., Array]) -> Step:
    def step(w: Weights, h: Array, c: Array, z: Array, a: Array) -> tuple[Array, Array]:
        v = (w.fuse("h") @ h) * (w.fuse("a") @ a)
        i = sigmoid(C(w, "i", "v", v) + C(w, "i", "z", z) + w.b("i"))
        f = sigmoid(C(w, "f", "v", v) + C(w, "f", "z", z) + w.b("f"))
        o = sigmoid(C(w, "o", "v", v) + C(w, "o", "z", z) + w.b("o"))
        c = f * c + i * np.tanh(C(w, "c", "v", v) + C(w, "c", "z", z) + w.b("c"))
        return o * np.tanh(c), c

    return step


def convolutional_da(C: Callable[..., Array]) -> Step:
    def step(w: Weights, h: Array, c: Array, z: Array, a: Array) -> tuple[Array, Array]:
        vi = (w.fuse("h", reader="i") @ h) * (w.fuse("a", reader="i") @ a)
        vf = (w.fuse("h", reader="f") @ h) * (w.fuse("a", reader="f") @ a)
        vo = (w.fuse("h", reader="o") @ h) * (w.fuse("a", reader="o") @ a)
        vc = (w.fuse("h", reader="c") @ h) * (w.fuse("a", reader="c") @ a)
        i = sigmoid(C(w, "i", "v", vi) + C(w, "i", "z", z) + w.b("i"))
        f = sigmoid(C(w, "f", "v", vf) + C(w, "f", "z", z) + w.b("f"))
        o = sigmoid(C(w, "o", "v", vo) + C(w, "o", "z", z) + w.b("o"))
        c = f * c + i * np.tanh(C(w, "c", "v", vc) + C(w, "c", "z", z) + w.b("c"))
        return o * np.tanh(c), c

    return step


def h_iz2816_2conv(w: Weights, h: Array, c: Array, z: Array, a: Array) -> tuple[Array, Array]:
    v = (w.fuse("h") @ h) * (w.fuse("a") @ a)
    i = sigmoid(w.C2("i", "v", v) + w.C2("i", "h", h) + w.b("i"))
    f = sigmoid(w.C2("f", "v", v) + w.C2("f", "h", h) + w.b("f"))
    o = sigmoid(w.C2("o", "v", v) + w.C2("o", "h", h) + w.b("o"))
    iz = sigmoid(w.C2("iz", "v", v) + w.C2("iz", "h", h) + w.b("iz"))
    c = f * c + i * np.tanh(w.C2("c", "v", v) + w.C2("c", "h", h) + w.b("c")) + iz * np.tanh(z)
    return o * np.tanh(c), c


def h_iz2816_da(C: Callable[..., Array]) -> Step:
    def step(w: Weights, h: Array, c: Array, z: Array, a: Array) -> tuple[Array, Array]:
        v = {
            name: (w.fuse("h", reader=name) @ h) * (w.fuse("a", reader=name) @ a) for name in ("i", "f", "o", "iz", "c")
        }
        i = sigmoid(C(w, "i", "v", v["i"]) + C(w, "i", "h", h) + w.b("i"))
        f = sigmoid(C(w, "f", "v", v["f"]) + C(w, "f", "h", h) + w.b("f"))
        o = sigmoid(C(w, "o", "v", v["o"]) + C(w, "o", "h", h) + w.b("o"))
        iz = sigmoid(C(w, "iz", "v", v["iz"]) + C(w, "iz", "h", h) + w.b("iz"))
        c = f * c + i * np.tanh(C(w, "c", "v", v["c"]) + C(w, "c", "h", h) + w.b("c")) + iz * np.tanh(z)
        return o * np.tanh(c), c

    return step


def h_iz2816_2conv_a(w: Weights, h: Array, c: Array, z: Array, a: Array) -> tuple[Array, Array]:
    v = w.C2_fusion(h) * (w.fuse("a") @ a)
    i = sigmoid(w.C2("i", "v", v) + w.C2("i", "h", h) + w.b("i"))
    f = sigmoid(w.C2("f", "v", v) + w.C2("f", "h", h) + w.b("f"))
    o = sigmoid(w.C2("o", "v", v) + w.C2("o", "h", h) + w.b("o"))
    iz = sigmoid(w.C2("iz", "v", v) + w.C2("iz", "h", h) + w.b("iz"))
    c = f * c + i * np.tanh(w.C2("c", "v", v) + w.C2("c", "h", h) + w.b("c")) + iz * np.tanh(z)
    return o * np.tanh(c), c


def action_mul_add(w: Weights, h: Array, c: Array, z: Array, a: Array) -> tuple[Array, Array]:
    v = (w.fuse("h") @ h) * (w.fuse("a") @ a) + w.fuse("a", product=1) @ a
    i = sigmoid(w.W("i", "v") @ v + w.W("i", "z") @ z + w.b("i"))
    f = sigmoid(w.W("f", "v") @ v + w.W("f", "z") @ z + w.b("f"))
    o = sigmoid(w.W("o", "v") @ v + w.W("o", "z") @ z + w.b("o"))
    c = f * c + i * np.tanh(w.W("c", "v") @ v + w.W("c", "z") @ z + w.b("c"))
    return o * np.tanh(c), c


def action_z(w: Weights, h: Array, c: Array, z: Array, a: Array) -> tuple[Array, Array]:
    v = (w.fuse("z") @ z) * (w.fuse("a") @ a)
    i = sigmoid(w.W("i", "h") @ h + w.W("i", "v") @ v + w.b("i"))
    f = sigmoid(w.W("f", "h") @ h + w.W("f", "v") @ v + w.b("f"))
    o = sigmoid(w.W("o", "h") @ h + w.W("o", "v") @ v + w.b("o"))
    c = f * c + i * np.tanh(w.W("c", "h") @ h + w.W("c", "v") @ v + w.b("c"))
    return o * np.tanh(c), c


def action_hz(w: Weights, h: Array, c: Array, z: Array, a: Array) -> tuple[Array, Array]:
    v = (w.fuse("h") @ h) * (w.fuse("z") @ z) * (w.fuse("a") @ a)
    i = sigmoid(w.W("i", "v") @ v + w.b("i"))
    f = sigmoid(w.W("f", "v") @ v + w.b("f"))
    o = sigmoid(w.W("o", "v") @ v + w.b("o"))
    c = f * c + i * np.tanh(w.W("c", "v") @ v + w.b("c"))
    return o * np.tanh(c), c


def action_hz_da(w: Weights, h: Array, c: Array, z: Array, a: Array) -> tuple[Array, Array]:
    def v(gate: str) -> Array:
        return (w.fuse("h", reader=gate) @ h) * (w.fuse("z", reader=gate) @ z) * (w.fuse("a", reader=gate) @ a)

    i = sigmoid(w.W("i", "v") @ v("i") + w.b("i"))
    f = sigmoid(w.W("f", "v") @ v("f") + w.b("f"))
    o = sigmoid(w.W("o", "v") @ v("o") + w.b("o"))
    c = f * c + i * np.tanh(w.W("c", "v") @ v("c") + w.b("c"))
    return o * np.tanh(c), c


def action_two(w: Weights, h: Array, c: Array, z: Array, a: Array) -> tuple[Array, Array]:
    v1 = (w.fuse("h", "v1") @ h) * (w.fuse("a", "v1") @ a)
    v2 = (w.fuse("z", "v2") @ z) * (w.fuse("a", "v2") @ a)
    i = sigmoid(w.W("i", "v1") @ v1 + w.W("i", "v2") @ v2 + w.b("i"))
    f = sigmoid(w.W("f", "v1") @ v1 + w.W("f", "v2") @ v2 + w.b("f"))
    o = sigmoid(w.W("o", "v1") @ v1 + w.W("o", "v2") @ v2 + w.b("o"))
    c = f * c + i * np.tanh(w.W("c", "v1") @ v1 + w.W("c", "v2") @ v2 + w.b("c"))
    return o * np.tanh(c), c


def action_two_da(w: Weights, h: Array, c: Array, z: Array, a: Array) -> tuple[Array, Array]:
    def v1(gate: str) -> Array:
        return (w.fuse("h", "v1", reader=gate) @ h) * (w.fuse("a", "v1", reader=gate) @ a)

    def v2(gate: str) -> Array:
        return (w.fuse("z", "v2", reader=gate) @ z) * (w.fuse("a", "v2", reader=gate) @ a)

    i = sigmoid(w.W("i", "v1") @ v1("i") + w.W("i", "v2") @ v2("i") + w.b("i"))
    f = sigmoid(w.W("f", "v1") @ v1("f") + w.W("f", "v2") @ v2("f") + w.b("f"))
    o = sigmoid(w.W("o", "v1") @ v1("o") + w.W("o", "v2") @ v2("o") + w.b("o"))
    c = f * c + i * np.tanh(w.W("c", "v1") @ v1("c") + w.W("c", "v2") @ v2("c") + w.b("c"))
    return o * np.tanh(c), c


def action_input(w: Weights, h: Array, c: Array, z: Array, a: Array) -> tuple[Array, Array]:
    i = sigmoid(w.W("i", "h") @ h + w.W("i", "z") @ z + w.W("i", "a") @ a + w.b("i"))
    f = sigmoid(w.W("f", "h") @ h + w.W("f", "z") @ z + w.W("f", "a") @ a + w.b("f"))
    o = sigmoid(w.W("o", "h") @ h + w.W("o", "z") @ z + w.W("o", "a") @ a + w.b("o"))
    c = f * c + i * np.tanh(w.W("c", "h") @ h + w.W("c", "z") @ z + w.W("c", "a") @ a + w.b("c"))
    return o * np.tanh(c), c


def plain_lstm(w: Weights, h: Array, c: Array, z: Array, a: Array) -> tuple[Array, Array]:
    i = sigmoid(w.W("i", "h") @ h + w.W("i", "z") @ z + w.b("i"))
    f = sigmoid(w.W("f", "h") @ h + w.W("f", "z") @ z + w.b("f"))
    o = sigmoid(w.W("o", "h") @ h + w.W("o", "z") @ z + w.b("o"))
    c = f * c + i * np.tanh(w.W("c", "h") @ h + w.W("c", "z") @ z + w.b("c"))
    return o * np.tanh(c), c


def pi_h(w: Weights, h: Array, c: Array, z: Array, a: Array) -> tuple[Array, Array]:
    return base(w, h, c, h, a)


def pi_h_iz2816_zero(w: Weights, h: Array, c: Array, z: Array, a: Array) -> tuple[Array, Array]:
    return h_iz2816(w, h, c, np.zeros_like(h), a)


FOUR, FIVE = "i f o c", "i f o iz c"
# Variant → its transition, the order of its gates, and for prediction-independent ones the transition from τ on with
# the weights that it uses.
TRANSITIONS: dict[str, tuple[Step, str]] = {
    "base": (base, FOUR),
    "base2816": (base, FOUR),
    "iz": (iz, FIVE),
    "iz2816": (iz2816, FIVE),
    "noz": (noz, FOUR),
    "noz-iz2816": (noz_iz2816, FIVE),
    "h": (h, FOUR),
    "h-iz": (h_iz, FIVE),
    "h-iz2816": (h_iz2816, FIVE),
    "conv": (convolutional(Weights.C), FOUR),
    "2conv": (convolutional(Weights.C2), FOUR),
    "conv-da": (convolutional_da(Weights.C), FOUR),
    "2conv-da": (convolutional_da(Weights.C2), FOUR),
    "h-iz2816-2conv": (h_iz2816_2conv, FIVE),
    "h-iz2816-conv-da": (h_iz2816_da(Weights.C), FIVE),
    "h-iz2816-2conv-da": (h_iz2816_da(Weights.C2), FIVE),
    "h-iz2816-2conv-a": (h_iz2816_2conv_a, FIVE),
    "action-mul-add": (action_mul_add, FOUR),
    "action-z": (action_z, FOUR),
    "action-hz": (action_hz, FOUR),
    "action-hz-da": (action_hz_da, FOUR),
    "action-two": (action_two, FOUR),
    "action-two-da": (action_two_da, FOUR),
    "action-input": (action_input, FOUR),
    "action-planes": (plain_lstm, FOUR),
    "oh2015": (plain_lstm, FOUR),
    "pi-h": (base, FOUR),
    "pi-zero": (base, FOUR),
    "pi-h-iz2816-zero": (h_iz2816, FIVE),
}
FROM_TAU_ON: dict[str, tuple[Step, str]] = {
    "pi-h": (pi_h, "prediction_cell"),
    "pi-zero": (base_with_z_zero, "prediction_cell"),
    "pi-h-iz2816-zero": (pi_h_iz2816_zero, "cell"),
}
LINEAR_LAST_CONVOLUTION = {name for name in TRANSITIONS if "iz2816" in name}  # "without RReLU after the last one"


class PaperSimulator:
    """One sequence at a time: warm-up on x_1…x_τ, then predictions from their own predictions or from h or 0."""

    def __init__(
        self,
        variant: str,
        state: Mapping[str, Array],
        encoder: list[tuple[int, tuple[int, int]]],
        frame_size: tuple[int, int],
        actions: int,
        slopes: Mapping[str, Array],
    ) -> None:
        self.variant, self.state, self.layers, self.slopes = variant, state, encoder, slopes
        self.actions = actions
        self.sizes = [frame_size]
        for number, (stride, padding) in enumerate(encoder):
            kernel = state[f"encoder.convolutions.{number}.weight"].shape[2:]
            self.sizes.append(
                tuple((n + 2 * p - k) // stride + 1 for n, p, k in zip(self.sizes[-1], padding, kernel, strict=True))
            )
        channels = state[f"encoder.convolutions.{len(encoder) - 1}.weight"].shape[0]
        self.shape = (channels, *self.sizes[-1])
        self.step, readers = TRANSITIONS[variant]
        self.weights = Weights(state, "cell", readers, self.shape, slopes)
        self.later_step, cell = FROM_TAU_ON.get(variant, (self.step, "cell"))
        self.later_weights = Weights(state, cell, readers, self.shape, slopes)

    def slope(self, place: str) -> Array | float:
        return self.slopes.get(place, MEAN_SLOPE)

    def encode(self, x: Array, a: Array) -> Array:
        if self.variant == "action-planes":
            x = np.concatenate([x, a[:, None, None] * np.ones((1, *x.shape[1:]))])
        for number, (stride, padding) in enumerate(self.layers):
            name = f"encoder.convolutions.{number}"
            x = convolve(x, self.state[f"{name}.weight"], self.state[f"{name}.bias"], stride, padding)
            if number < len(self.layers) - 1 or self.variant not in LINEAR_LAST_CONVOLUTION:
                x = rrelu(x, self.slope(f"encoder.rectifiers.{number}"))
        return x.ravel()

    def decode(self, h: Array, a: Array) -> Array:
        if self.variant == "oh2015":
            h = (self.state["decoder.hidden_factor.weight"] @ h) * (self.state["decoder.action_factor.weight"] @ a)
        x = self.state["decoder.expand.weight"] @ h + self.state["decoder.expand.bias"]
        x = x.reshape(self.shape)
        for number, (stride, padding) in enumerate(reversed(self.layers)):
            name = f"decoder.convolutions.{number}"
            size = self.sizes[-2 - number]
            x = full_convolve(x, self.state[f"{name}.weight"], self.state[f"{name}.bias"], stride, padding, size)
            if number < len(self.layers) - 1:
                x = rrelu(x, self.slope(f"decoder.rectifiers.{number}"))
        return x

    def run(self, frames: Array, actions: Array, warm_up: int) -> list[tuple[Array, Array, Array]]:
        """(h, c, x̂) at τ + 1, τ + 2, …: one for each action from a_τ on."""
        hidden_size = self.state[
            "decoder.hidden_factor.weight" if self.variant == "oh2015" else "decoder.expand.weight"
        ]
        h = c = np.zeros(hidden_size.shape[1])
        one_hot = np.eye(self.actions)
        for t in range(warm_up - 1):
            a = one_hot[actions[t]]
            h, c = self.step(self.weights, h, c, self.encode(frames[t], a), a)
        frame, results = frames[warm_up - 1], []
        for t in range(warm_up - 1, len(actions)):
            a = one_hot[actions[t]]
            independent = self.variant in FROM_TAU_ON
            z = np.zeros(0) if independent else self.encode(frame, a)
            h, c = self.later_step(self.later_weights, h, c, z, a)
            frame = self.decode(h, a)
            results.append((h, c, frame))
        return results
