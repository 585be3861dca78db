"""The report in headless Chromium: no errors, readable on a phone and in dark mode.

Tests are skipped without Chromium, Debian's package ``chromium``, which takes long to start.
"""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
from searches import given_search

from structbo import write_report

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium"),
]
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
MEASURE = """<script>addEventListener("load", () => {
  const loaded = [...document.images].filter(image => image.naturalWidth > 0).length;
  const cut = [...document.querySelectorAll(".scroll")].filter(
    box => box.scrollWidth > box.clientWidth + 1).length;
  const sizes = [...document.querySelectorAll("p, li, td")].map(
    element => parseFloat(getComputedStyle(element).fontSize));
  document.title = "changed";
  parent.postMessage([document.documentElement.scrollWidth, innerWidth, document.images.length,
    loaded, cut, Math.min(...sizes)].join(" "), "*");
})</script></html>"""
"""Reports measurements of the page to the page around it."""
FRAME = """<!doctype html><script>
addEventListener("message", event => { document.title = event.data; });
</script><iframe src="copy.html" width="WIDTH" height="900" frameborder="0"></iframe>"""
"""A frame of any width, since windows of Chromium have a minimum width above a phone's."""

Browse = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with given_search() as search:
        path = tmp_path_factory.mktemp("report") / "report.html"
        return write_report(search, path, num_suggestions=1)


@pytest.fixture
def browse(tmp_path: Path) -> Browse:
    def run(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
        command = [
            str(CHROMIUM),
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--enable-logging=stderr",
            f"--user-data-dir={tmp_path / 'profile'}",
            *options,
            path.as_uri(),
        ]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)

    return run


def test_the_console_is_empty(page: Path, browse: Browse):
    done = browse(page, "--dump-dom")
    assert "What the search has found" in done.stdout
    assert "CONSOLE" not in done.stderr


def test_a_script_in_the_page_would_not_run(page: Path, browse: Browse, tmp_path: Path):
    """This shows that the policy works, and that the test above sees errors."""
    copy = tmp_path / "copy.html"
    copy.write_text(page.read_text().replace("</html>", MEASURE))
    done = browse(copy, "--dump-dom")
    assert "<title>What the search has found</title>" in done.stdout
    assert "CONSOLE" in done.stderr and "Content Security Policy" in done.stderr


@pytest.mark.parametrize("width", [390, 1280])
def test_all_is_on_the_screen(page: Path, browse: Browse, tmp_path: Path, width: int):
    """Neither page nor tables scroll sideways, pictures are there, letters are large enough."""
    copy = tmp_path / "copy.html"
    opened = page.read_text().replace("<details>", "<details open>")
    copy.write_text(POLICY.sub("", opened).replace("</html>", MEASURE))
    frame = tmp_path / "frame.html"
    frame.write_text(FRAME.replace("WIDTH", str(width)))
    done = browse(frame, "--dump-dom", "--window-size=1300,1000", "--virtual-time-budget=5000")
    found = re.search("<title>(.*)</title>", done.stdout)
    assert found is not None
    scrolled, inner, pictures, loaded, cut, letters = map(float, found[1].split())
    assert scrolled <= inner == width and cut == 0
    assert loaded == pictures > 8
    assert letters >= 14


def test_the_page_is_dark_where_people_want_it_dark(page: Path, browse: Browse, tmp_path: Path):
    def brightness(name: str, *options: str) -> np.ndarray:
        shot = tmp_path / name
        browse(page, f"--screenshot={shot}", "--window-size=900,3000", *options)
        return matplotlib.image.imread(shot)[..., :3].mean(-1)

    light = brightness("light.png")
    dark = brightness("dark.png", "--blink-settings=preferredColorScheme=0")
    assert light.mean() > 0.85 and dark.mean() < 0.25
    # No picture stays bright, and both pages have readable text.
    assert (dark > 0.9).mean() < 0.02
    assert light.min() < 0.3 and dark.max() > 0.7
