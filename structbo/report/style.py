"""How the page looks: on wide and narrow screens, in light and dark, and on paper."""

STYLE = """
:root { color-scheme: light dark; --ink: #1d2430; --soft: #5b6575; --line: #d9dee6; --page: #ffffff;
  --panel: #f4f6f9; --accent: #005f96; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ee; --soft: #a3adbb; --line: #363e4a; --page: #14181e; --panel: #1d232b;
    --accent: #6cb8ea; }
  /* Light pictures turn dark, and keep their hues. */
  img { filter: invert(0.92) hue-rotate(180deg); }
}
* { box-sizing: border-box; }
body { counter-reset: picture; margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 64rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
header p, .remark, figcaption { color: var(--soft); }
h1 { font-size: 1.8rem; line-height: 1.2; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.3rem; margin: 0 0 0.5rem; }
a { color: var(--accent); }
p, li { max-width: 46rem; overflow-wrap: anywhere; }
section { border-top: 1px solid var(--line); margin-top: 2rem; padding-top: 1.5rem; }
.finding { font-weight: 600; }
.summary { background: var(--panel); border: 1px solid var(--line); border-radius: 0.6rem;
  padding: 1rem 1.2rem; }
.summary ul { margin: 0; padding-left: 1.1rem; }
.summary li + li { margin-top: 0.4rem; }
.pictures { display: flex; flex-wrap: wrap; gap: 1rem; align-items: flex-start; }
img { display: block; max-width: 100%; height: auto; margin: 0.4rem 0; }
figure { margin: 1rem 0; max-width: 100%; }
.picture { max-width: min(100%, 26.5rem); }
.picture figcaption { padding: 0; overflow-wrap: anywhere; }
.picture figcaption::before { counter-increment: picture;
  content: "Figure " counter(picture) ". "; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.92rem; font-variant-numeric: tabular-nums; }
figcaption { font-size: 0.92rem; padding-bottom: 0.4rem; }
th, td { text-align: left; padding: 0.3rem 0.8rem; border-bottom: 1px solid var(--line);
  white-space: nowrap; }
.number { text-align: right; }
th:first-child { padding-left: 0; }
thead th { color: var(--soft); font-weight: 600; white-space: normal; vertical-align: bottom; }
tbody th { font-weight: 500; }
code { font-size: 0.88em; overflow-wrap: anywhere; }
details { margin: 1rem 0; }
summary { cursor: pointer; color: var(--accent); }
@media (max-width: 40rem) {
  th, td { padding: 0.3rem 0.5rem; white-space: normal; overflow-wrap: anywhere; }
  thead th, .narrow .number { overflow-wrap: normal; }
  /* Rows of wide tables become blocks of labeled values, and nothing is cut off. */
  .wide thead { position: absolute; width: 1px; height: 1px; overflow: hidden;
    clip-path: inset(50%); }
  .wide, .wide tbody, .wide tr { display: block; }
  .wide tr { padding: 0.5rem 0; border-bottom: 1px solid var(--line); }
  .wide tbody th, .wide td { display: inline-block; padding: 0 1rem 0 0; border: 0;
    text-align: left; }
  .wide tbody th { display: block; font-weight: 600; }
  .wide [data-label]::before { content: attr(data-label) "\\a0"; color: var(--soft);
    font-weight: 400; }
}
@media print { section { break-inside: avoid; } }
"""
