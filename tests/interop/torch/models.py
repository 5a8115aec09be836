"""Ten networks as small modules, of their published shapes or of less width; their weights are random."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from oracles import import_torch

torch = import_torch()
nn, F = torch.nn, torch.nn.functional


def mlp(width: int) -> Any:
    """Three linear layers."""
    return nn.Sequential(nn.Linear(32, width), nn.ReLU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, 10))


class Block(nn.Module):
    """A residual block of two convolutions of 3x3, or of three with a bottleneck (He et al., 2015)."""

    def __init__(self, before: int, width: int, after: int, stride: int):
        super().__init__()
        deep = after != width
        sizes = [(before, width, 1), (width, width, 3), (width, after, 1)] if deep else [(before, width, 3), (width, width, 3)]
        strided = 1 if deep else 0
        layers: list[Any] = []
        for k, (i, o, size) in enumerate(sizes):
            layers += [
                nn.Conv2d(i, o, size, stride if k == strided else 1, size // 2, bias=False),
                nn.BatchNorm2d(o),
                nn.ReLU(),
            ]
        self.layers = nn.Sequential(*layers[:-1])
        same = stride == 1 and before == after
        self.skip = (
            nn.Identity() if same else nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))
        )

    def forward(self, x: Any) -> Any:
        return torch.relu(self.layers(x) + self.skip(x))


def resnet(depths: list[int], width: int, expansion: int, classes: int = 1000) -> Any:
    """A residual network: [2, 2, 2, 2] with expansion 1 is ResNet-18, [3, 4, 6, 3] with 4 is ResNet-50."""
    layers: list[Any] = [nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    before = width
    for stage, depth in enumerate(depths):
        inner = width * 2**stage
        for k in range(depth):
            layers.append(Block(before, inner, inner * expansion, 2 if stage and not k else 1))
            before = inner * expansion
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, classes))


class Inverted(nn.Module):
    """An inverted residual block with squeeze and excitation (Howard et al., 2019)."""

    def __init__(self, before: int, wide: int, after: int, size: int, stride: int, squeezed: bool, act: Any):
        super().__init__()
        self.expand = nn.Sequential(nn.Conv2d(before, wide, 1, bias=False), nn.BatchNorm2d(wide), act())
        self.depthwise = nn.Sequential(
            nn.Conv2d(wide, wide, size, stride, size // 2, groups=wide, bias=False), nn.BatchNorm2d(wide), act()
        )
        inner = max(wide // 4, 8)
        layers = [nn.AdaptiveAvgPool2d(1), nn.Conv2d(wide, inner, 1), nn.ReLU(), nn.Conv2d(inner, wide, 1), nn.Hardsigmoid()]
        self.squeeze = nn.Sequential(*layers) if squeezed else None
        self.project = nn.Sequential(nn.Conv2d(wide, after, 1, bias=False), nn.BatchNorm2d(after))
        self.same = stride == 1 and before == after

    def forward(self, x: Any) -> Any:
        y = self.depthwise(self.expand(x))
        y = self.project(y if self.squeeze is None else y * self.squeeze(y))
        return x + y if self.same else y


MOBILENET_V3_LARGE = [
    (16, 16, 3, 1, False, "r"), (64, 24, 3, 2, False, "r"), (72, 24, 3, 1, False, "r"), (72, 40, 5, 2, True, "r"),
    (120, 40, 5, 1, True, "r"), (120, 40, 5, 1, True, "r"), (240, 80, 3, 2, False, "h"), (200, 80, 3, 1, False, "h"),
    (184, 80, 3, 1, False, "h"), (184, 80, 3, 1, False, "h"), (480, 112, 3, 1, True, "h"), (672, 112, 3, 1, True, "h"),
    (672, 160, 5, 2, True, "h"), (960, 160, 5, 1, True, "h"), (960, 160, 5, 1, True, "h"),
]  # fmt: skip


def mobilenet(rows: list[Any], last: int, classes: int = 1000) -> Any:
    """MobileNet-v3 by the rows of its table."""
    layers: list[Any] = [nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.Hardswish()]
    before = 16
    for wide, after, size, stride, squeezed, act in rows:
        layers.append(Inverted(before, wide, after, size, stride, squeezed, nn.ReLU if act == "r" else nn.Hardswish))
        before = after
    layers += [
        nn.Conv2d(before, last, 1, bias=False),
        nn.BatchNorm2d(last),
        nn.Hardswish(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
    ]
    return nn.Sequential(*layers, nn.Linear(last, last + 320), nn.Hardswish(), nn.Dropout(0.2), nn.Linear(last + 320, classes))


class Attention(nn.Module):
    """Self attention of several heads; with a cache of keys and values it adds those of the new tokens."""

    def __init__(self, width: int, heads: int, causal: bool):
        super().__init__()
        self.qkv, self.out, self.heads, self.causal = nn.Linear(width, 3 * width), nn.Linear(width, width), heads, causal

    def forward(self, x: Any, mask: Any = None, cache: Any = None) -> Any:
        b, n, width = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        if cache is not None:
            k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
        y = F.scaled_dot_product_attention(q, k, v, mask, is_causal=self.causal and cache is None)
        y = self.out(y.transpose(1, 2).reshape(b, n, width))
        return y if cache is None else (y, (k, v))


class TransformerLayer(nn.Module):
    """Attention and a perceptron, each after a normalization (`pre`) or before one."""

    def __init__(self, width: int, heads: int, pre: bool, causal: bool = False):
        super().__init__()
        self.attention, self.pre = Attention(width, heads, causal), pre
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x: Any, mask: Any = None, cache: Any = None) -> Any:
        made = self.attention(self.first(x) if self.pre else x, mask, cache)
        y, cache = made if cache is not None else (made, None)
        x = x + y if self.pre else self.first(x + y)
        x = x + self.mlp(self.second(x)) if self.pre else self.second(x + self.mlp(x))
        return x if cache is None else (x, cache)


class ViT(nn.Module):
    """An image as a sequence of patches (Dosovitskiy et al., 2020)."""

    def __init__(self, size: int, patch: int, width: int, depth: int, heads: int, classes: int = 1000):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.randn(1, 1, width))
        self.positions = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, width))
        self.layers = nn.Sequential(*[TransformerLayer(width, heads, True) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, x: Any) -> Any:
        y = self.patches(x).flatten(2).transpose(1, 2)
        y = torch.cat([self.token.expand(x.shape[0], -1, -1), y], 1) + self.positions
        return self.head(self.norm(self.layers(y))[:, 0])


class Bert(nn.Module):
    """Tokens of one or two sentences, of which some are padding (Devlin et al., 2018)."""

    def __init__(self, words: int, length: int, width: int, depth: int, heads: int):
        super().__init__()
        self.words, self.positions, self.kinds = nn.Embedding(words, width), nn.Embedding(length, width), nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList([TransformerLayer(width, heads, False) for _ in range(depth)])
        self.pooler = nn.Linear(width, width)

    def forward(self, ids: Any, kinds: Any, present: Any) -> Any:
        x = self.words(ids) + self.positions(torch.arange(ids.shape[1])) + self.kinds(kinds)
        x, mask = self.norm(x), present[:, None, None, :] > 0
        for layer in self.layers:
            x = layer(x, mask)
        return x, torch.tanh(self.pooler(x[:, 0]))


class GPT2(nn.Module):
    """A causal language model that takes new tokens and the keys and values of those before."""

    def __init__(self, words: int, length: int, width: int, depth: int, heads: int):
        super().__init__()
        self.words, self.positions = nn.Embedding(words, width), nn.Embedding(length, width)
        self.layers = nn.ModuleList([TransformerLayer(width, heads, True, True) for _ in range(depth)])
        self.norm = nn.LayerNorm(width)

    def forward(self, ids: Any, caches: list[tuple[Any, Any]]) -> Any:
        before, n = caches[0][0].shape[2], ids.shape[1]
        steps = torch.arange(before, before + n)
        x = self.words(ids) + self.positions(steps)
        mask = torch.arange(before + n)[None, :] <= steps[:, None]
        made = []
        for layer, cache in zip(self.layers, caches, strict=True):
            x, cache = layer(x, mask, cache)
            made.append(cache)
        return self.norm(x) @ self.words.weight.t(), made


class LanguageModel(nn.Module):
    """Two LSTM layers over words."""

    def __init__(self, words: int, width: int):
        super().__init__()
        self.words, self.lstm = nn.Embedding(words, width), nn.LSTM(width, width, 2, batch_first=True)
        self.head = nn.Linear(width, words)

    def forward(self, ids: Any) -> Any:
        y, (h, c) = self.lstm(self.words(ids))
        return self.head(y), h, c


class UNet(nn.Module):
    """Down and up again, with what was there before (Ronneberger et al., 2015)."""

    def __init__(self, width: int, depth: int):
        super().__init__()
        widths = [width * 2**k for k in range(depth + 1)]
        self.down = nn.ModuleList([self._pair(i, o) for i, o in zip([3, *widths[:-1]], widths, strict=True)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(w * 2, w, 2, 2) for w in widths[:-1]])
        self.join = nn.ModuleList([self._pair(w * 2, w) for w in widths[:-1]])
        self.head = nn.Conv2d(width, 2, 1)

    @staticmethod
    def _pair(i: int, o: int) -> Any:
        layers = [nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(), nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o)]
        return nn.Sequential(*layers, nn.ReLU())

    def forward(self, x: Any) -> Any:
        kept = []
        for k, layer in enumerate(self.down):
            x = layer(x if not k else F.max_pool2d(x, 2))
            kept.append(x)
        for up, join, skip in reversed(list(zip(self.up, self.join, kept[:-1], strict=True))):
            x = join(torch.cat([skip, up(x)], 1))
        return self.head(x)


class Detector(nn.Module):
    """Boxes and scores of the cells of an image; the best ones, without those that overlap a better one."""

    def __init__(self, width: int, most: int):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, width, 3, 2, 1), nn.SiLU(), nn.Conv2d(width, width, 3, 2, 1), nn.SiLU())
        self.box, self.score, self.most = nn.Conv2d(width, 4, 1), nn.Conv2d(width, 3, 1), most

    def forward(self, x: Any) -> Any:
        y = self.body(x)
        h, w = y.shape[2:]
        rows, columns = torch.meshgrid(torch.arange(h) * 4.0, torch.arange(w) * 4.0, indexing="ij")
        cells = torch.stack([columns, rows], -1).reshape(1, -1, 2)
        raw = self.box(y).flatten(2).transpose(1, 2)
        middle, half = cells + raw[..., :2], F.softplus(raw[..., 2:] * 4) * 4
        boxes = torch.cat([middle - half, middle + half], -1)
        best, kind = self.score(y).sigmoid().flatten(2).max(1)
        scores, order = best.topk(self.most, dim=1)
        boxes = boxes.gather(1, order[..., None].expand(-1, -1, 4))
        low, high = (
            torch.maximum(boxes[:, :, None, :2], boxes[:, None, :, :2]),
            torch.minimum(boxes[:, :, None, 2:], boxes[:, None, :, 2:]),
        )
        shared = (high - low).clamp(min=0).prod(-1)
        area = (boxes[..., 2:] - boxes[..., :2]).prod(-1)
        overlap = shared / (area[:, :, None] + area[:, None, :] - shared) > 0.5
        keep = torch.ones_like(scores, dtype=torch.bool)
        steps = torch.arange(self.most)
        for k in range(self.most):  # the best first: it drops those after it
            keep = keep & ~(overlap[:, k] & keep[:, k : k + 1] & (steps > k))
        return boxes, scores * keep, kind.gather(1, order), keep


@dataclass(frozen=True)
class Example:
    """A network, arguments of a batch of n, and the dims that stay open.

    Attributes:
        model: makes the network.
        inputs: makes the arguments of a batch.
        shapes: `dynamic_shapes` for a batch dim.
    """

    model: Callable[[], Any]
    inputs: Callable[[int], tuple[Any, ...]]
    shapes: Callable[[Any], Any] = lambda batch: ({0: batch},)


def images(size: int) -> Callable[[int], tuple[Any, ...]]:
    """A batch of images."""
    return lambda n: (torch.randn(n, 3, size, size),)


def ids(words: int, length: int) -> Callable[[int], tuple[Any, ...]]:
    """A batch of token numbers."""
    return lambda n: (torch.randint(0, words, (n, length)),)


def sentences(words: int, length: int) -> Callable[[int], tuple[Any, ...]]:
    """Tokens, the sentence that each is of, and which are there."""

    def make(n: int) -> tuple[Any, ...]:
        lengths = torch.randint(1, length + 1, (n, 1))
        present = (torch.arange(length) < lengths).long()
        return torch.randint(0, words, (n, length)), torch.randint(0, 2, (n, length)), present

    return make


def continued(words: int, depth: int, heads: int, width: int, before: int, new: int) -> Callable[[int], tuple[Any, ...]]:
    """New tokens, and the keys and values of those before."""

    def make(n: int) -> tuple[Any, ...]:
        caches = [tuple(torch.randn(n, heads, before, width // heads) for _ in range(2)) for _ in range(depth)]
        return torch.randint(0, words, (n, new)), caches

    return make


SMALL = {
    "mlp": Example(lambda: mlp(48), lambda n: (torch.randn(n, 32),)),
    "resnet18": Example(lambda: resnet([1, 1, 1, 1], 8, 1, 10), images(33)),
    "resnet50": Example(lambda: resnet([1, 1], 8, 4, 10), images(32)),
    "mobilenet_v3": Example(lambda: mobilenet(MOBILENET_V3_LARGE[2:5], 32, 10), images(32)),
    "vit": Example(lambda: ViT(32, 8, 32, 2, 4, 10), images(32)),
    "bert": Example(lambda: Bert(60, 16, 32, 2, 4), sentences(60, 11), lambda b: ({0: b}, {0: b}, {0: b})),
    "gpt2": Example(
        lambda: GPT2(60, 32, 32, 2, 4), continued(60, 2, 4, 32, 5, 3), lambda b: ({0: b}, [({0: b}, {0: b})] * 2)
    ),
    "lstm": Example(lambda: LanguageModel(60, 24), ids(60, 5)),
    "unet": Example(lambda: UNet(8, 2), images(16)),
    "detector": Example(lambda: Detector(8, 12), images(32)),
}  # fmt: skip
"""Of little width and depth."""
FULL = {
    "mlp": Example(lambda: mlp(1024), lambda n: (torch.randn(n, 32),)),
    "resnet18": Example(lambda: resnet([2, 2, 2, 2], 64, 1), images(224)),
    "resnet50": Example(lambda: resnet([3, 4, 6, 3], 64, 4), images(224)),
    "mobilenet_v3": Example(lambda: mobilenet(MOBILENET_V3_LARGE, 960), images(224)),
    "vit": Example(lambda: ViT(224, 16, 768, 12, 12), images(224)),
    "bert": Example(lambda: Bert(30522, 512, 768, 12, 12), sentences(30522, 64), lambda b: ({0: b}, {0: b}, {0: b})),
    "gpt2": Example(
        lambda: GPT2(50257, 1024, 768, 12, 12), continued(50257, 12, 12, 768, 32, 4),
        lambda b: ({0: b}, [({0: b}, {0: b})] * 12),
    ),
    "lstm": Example(lambda: LanguageModel(10000, 650), ids(10000, 35)),
    "unet": Example(lambda: UNet(64, 4), images(96)),
    "detector": Example(lambda: Detector(64, 100), images(320)),
}  # fmt: skip
"""Of the published shapes: ViT-B/16, BERT-base, GPT-2 small."""
