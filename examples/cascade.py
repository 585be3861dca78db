"""Tune the 22 stage thresholds of OpenCV's frontal-face detector (Viola and Jones, 2001).

The detector is a cascade: a window of the picture is a face if it passes all 22 stages, so the
thresholds interact. OpenCV ships hand-tuned thresholds. `accuracy` is the function to maximize.

    pip install -e ".[examples]" && python examples/cascade.py
"""

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import cv2
import numpy as np
import skimage.data
from numpy.typing import ArrayLike, NDArray

Picture = NDArray[np.uint8]

cv2.setNumThreads(1)  # threads do not pay off on tiny pictures

_CASCADE = ElementTree.parse(Path(cv2.data.haarcascades) / "haarcascade_frontalface_alt.xml")
_STAGES = list(_CASCADE.iter("stageThreshold"))

SHIPPED = np.array([float(stage.text or "nan") for stage in _STAGES])
NAMES = [f"stage_{i:02d}" for i in range(len(SHIPPED))]
# A stage sums about as many votes as its threshold, so their deviation grows with its root.
REACH = 0.15 + 0.2 * np.sqrt(SHIPPED)
BOUNDS = {
    name: (float(shipped - reach), float(shipped + reach))
    for name, shipped, reach in zip(NAMES, SHIPPED, REACH, strict=True)
}


def detector(thresholds: ArrayLike) -> cv2.CascadeClassifier:
    """The cascade with other stage thresholds, array (22,)."""
    for stage, threshold in zip(_STAGES, np.asarray(thresholds, float), strict=True):
        stage.text = repr(float(threshold))
    text = ElementTree.tostring(_CASCADE.getroot(), encoding="unicode", xml_declaration=True)
    storage = cv2.FileStorage(text, cv2.FILE_STORAGE_READ | cv2.FILE_STORAGE_MEMORY)
    cascade = cv2.CascadeClassifier()
    if not cascade.read(storage.getFirstTopLevelNode()):
        raise RuntimeError("OpenCV could not read the cascade; it needs opencv-python-headless<5")
    return cascade


def lookalikes(count: int, seed: int = 0) -> list[Picture]:
    """Pieces of brick, grass, gravel and print that a lenient cascade takes for faces."""
    lenient = detector(SHIPPED - 0.4 * REACH)
    data = skimage.data
    textures = [data.brick(), data.grass(), data.gravel(), data.page()]
    found = []
    for texture in [*textures, *(np.flipud(texture).copy() for texture in textures)]:
        for x, y, width, height in lenient.detectMultiScale(texture, 1.2, 2):
            found.append(cv2.resize(texture[y : y + height, x : x + width], (25, 25)))
    chosen = np.random.default_rng(seed).choice(len(found), count, replace=False)
    return [found[i] for i in chosen]


@cache
def pictures() -> tuple[list[Picture], list[Picture]]:
    """200 faces (half of them grainy) and 200 other pictures (half of them lookalikes)."""
    labeled = 255.0 * skimage.data.lfw_subset()  # 100 faces, then 100 other pictures, 25 x 25
    grain = 12.0 * np.random.default_rng(0).standard_normal((100, 25, 25))
    faces = [*labeled[:100], *(labeled[:100] + grain)]
    others = [*labeled[100:], *lookalikes(100)]
    return [framed(face) for face in faces], [framed(other) for other in others]


def framed(picture: NDArray) -> Picture:
    """A gray picture with a margin, which the detector needs around a face."""
    gray = np.clip(picture, 0, 255).astype(np.uint8)
    return cv2.copyMakeBorder(gray, 4, 4, 4, 4, cv2.BORDER_REPLICATE)


def accuracy(thresholds: Mapping[str, float] | Sequence[float] | NDArray) -> float:
    """The mean of two rates: faces found exactly once, and other pictures without a detection."""
    if isinstance(thresholds, Mapping):
        thresholds = [thresholds[name] for name in NAMES]
    cascade = detector(thresholds)

    def boxes(picture: Picture) -> int:
        return len(cascade.detectMultiScale(picture, 1.1, 2, minSize=(20, 20)))

    faces, others = pictures()
    found = np.mean([boxes(face) == 1 for face in faces])
    rejected = np.mean([boxes(other) == 0 for other in others])
    return float(0.5 * (found + rejected))


if __name__ == "__main__":
    print(f"shipped thresholds: balanced accuracy {accuracy(SHIPPED):.4f}")
