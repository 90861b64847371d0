# SPDX-License-Identifier: Apache-2.0
"""Writes small SVG pictures: shapes with classes, which one style sheet colours for light and for dark.

The same shapes give the same bytes. Colours are from Okabe and Ito's palette, and never the only difference between two things.
"""
import sys
from xml.sax.saxutils import escape

STYLE = """
text{font:13px system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;fill:#1f2328}
.title{font-size:17px;font-weight:600}.small{font-size:12px}.muted{fill:#57606a}.strong{font-weight:600}
.ground{fill:#ffffff;stroke:#d0d7de}.shade{fill:#f0e9df}.deep{fill:#ddd0bd}
.grid{stroke:#d8dee4;fill:none}.axis{stroke:#57606a;fill:none}
.line{fill:none;stroke-width:2;stroke-linejoin:round}.thin{fill:none;stroke-width:1.25}.dash{stroke-dasharray:5 3}
.a{fill:#0072b2}.b{fill:#d55e00}.c{fill:#009e73}.d{fill:#9a5b8a}.e{fill:#6e7781}.hollow{fill:#ffffff}
.sa{stroke:#0072b2}.sb{stroke:#d55e00}.sc{stroke:#009e73}.sd{stroke:#9a5b8a}.se{stroke:#6e7781}
.area{fill:#0072b2;fill-opacity:.16}.on{fill:#ffffff}
.dots{fill:none;stroke-linecap:round;stroke-width:4.5}.square{stroke-linecap:square;stroke-width:3.6}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}.muted{fill:#9da7b3}
.ground{fill:#0d1117;stroke:#30363d}.shade{fill:#2b2415}.deep{fill:#4a3d22}
.grid{stroke:#2a3038}.axis{stroke:#9da7b3}
.a{fill:#56b4e9}.b{fill:#ff8c42}.c{fill:#2dd4a7}.d{fill:#d9a0cb}.e{fill:#6e7681}.hollow{fill:#0d1117}
.sa{stroke:#56b4e9}.sb{stroke:#ff8c42}.sc{stroke:#2dd4a7}.sd{stroke:#d9a0cb}.se{stroke:#6e7681}
.area{fill:#56b4e9;fill-opacity:.22}.on{fill:#0d1117}
}"""


def number(value):
    """Rounded to a tenth of a pixel, which is enough."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


class Picture:
    def __init__(self, width, height, title, description):
        self.size = (width, height)
        self.title, self.description = title, description
        self.parts = []
        self.rect(0.5, 0.5, width - 1, height - 1, "ground", radius=6)
        self.text(20, 30, title, "title")

    def add(self, name, css, text=None, **attributes):
        inner = "".join(f' {key.replace("_", "-")}="{escape(str(value))}"' for key, value in attributes.items())
        css = f' class="{css}"' if css else ""
        self.parts.append(f"<{name}{css}{inner}" + ("/>" if text is None else f">{escape(text)}</{name}>"))

    def text(self, x, y, text, css="", anchor=None):
        extra = {"text_anchor": anchor} if anchor else {}
        self.add("text", css, text, x=number(x), y=number(y), **extra)

    def rect(self, x, y, width, height, css, radius=0):
        extra = {"rx": radius} if radius else {}
        self.add("rect", css, x=number(x), y=number(y), width=number(width), height=number(height), **extra)

    def circle(self, x, y, radius, css):
        self.add("circle", css, cx=number(x), cy=number(y), r=number(radius))

    def path(self, points, css, close=False):
        """Straight lines from point to point, without points that make no difference at this size."""
        steps = [f"{number(x)} {number(y)}" for x, y in points]
        kept = [step for index, step in enumerate(steps) if index == 0 or step != steps[index - 1]]
        self.add("path", css, d="M" + "L".join(kept) + ("Z" if close else ""))

    def strokes(self, lines, css):
        """Separate lines as one path."""
        self.add("path", css, d="".join(
            f"M{number(a)} {number(b)}L{number(c)} {number(d)}" for (a, b), (c, d) in lines))

    def dots(self, places, css):
        """Many small circles as one path."""
        self.add("path", f"dots {css}", d="".join(f"M{number(x)} {number(y)}h.01" for x, y in places))

    @property
    def source(self):
        width, height = self.size
        body = "\n".join(self.parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'role="img" aria-labelledby="title description">\n<title id="title">{escape(self.title)}</title>\n'
            f'<desc id="description">{escape(self.description)}</desc>\n<style>{STYLE}\n</style>\n{body}\n</svg>\n')

    def write(self, path):
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.source)
        print(f"{path}: {len(self.source.encode()) / 1000:.1f} kB", file=sys.stderr)


def scale(low, high, start, end):
    """Maps low...high to start...end."""
    return lambda value: start + (value - low) / (high - low) * (end - start)


def steps(points):
    """Corners of a line that keeps each value until the next."""
    corners = []
    for x, y in points:
        if corners:
            corners.append((x, corners[-1][1]))
        corners.append((x, y))
    return corners


def duration(seconds):
    """For people: `0.3 s`, `15 s`, `4 min 5 s`."""
    if seconds < 10:
        return f"{seconds:.1f} s".replace(".0 s", " s")
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    return f"{minutes} min" + (f" {rest} s" if rest else "")
