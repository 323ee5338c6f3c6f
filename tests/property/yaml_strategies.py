"""YAML as people and programs write it, and as neither should."""

from dataclasses import dataclass, field

from hypothesis import strategies as st

# Plain scalars that YAML 1.1, YAML 1.2, Go and Python do not agree about.
AMBIGUOUS = [
    *("1e3", "0o17", "12e03", "22:00", "on", "y", "=", "<<", "~", "012", ".5", "2024-01-01"),
    *("0x1F", "1_000", "190:20:30", "null", "Null", "NO", "yes", "true", ".inf", ".NaN", "1.0"),
    *("1.", "+1", "-0", "0b11", "99999999999999999999999", "1e400"),
]
# The same, and other texts that are not what they look like.
LOOKALIKES = [
    *AMBIGUOUS,
    *("True", "-.INF", ".nan", "1e+3", "6.", "n", "", " ", "-", "?", ":", "- a", "a: b", "a #b"),
    *("#", "&a", "*a", "!a", "|", ">", "%a", "@a", "`a", "{", "[", "]", ",", "'", '"', "\\", "a:"),
    *(":a", "---", "...", "2001-12-14t21:59:43.10-05:00", "é", "😀", "a\nb", "a\nb\n", "\na"),
    *("a\n\n", " a\nb", "a \nb", "a\n b\n", "\ta\nb", "a\r\nb", "a\x85b", "a\u2028b\n", "\ufeffa"),
    *("a\x00b", "\x7f", "a\n\tb", "a\n \nb", "x" * 300),
    *("Monday 08:00 to Thursday 17:00, Europe/Berlin", "/gate", "10m"),
]
KEYS = ["a", "b", "name", "on", "22:00", "x.y/z", "=", "spec"]
PLAIN = [
    *("x", "on", "22:00", "=", "1e3", "a b", "don't", 'say "x', "a [b", "http://x:1/#y", "~", "-x"),
    *("😀", "0x1F", "a{b"),
]
# Lines that a quoted scalar may carry over a break, and that look like structure.
MISLEADING = [
    *("- a", "- kind: X", "items:", "functionConfig: x", "# no comment", "kind: Y", "", "  - b"),
    *("results:",),
]
# What goes on over lines is indented deeper than what is around it (YAML 1.2.2, 6.1 and 7.3).
PAD = " " * 30
FLOWS = ["[]", "{}", "[a, b]", "[\"a\", 'b']", "{a: b,~c: [d,~'e']}", "[a,~b~]"]
FLOWS += ['{a: "x",~b: {c: d}}']
# What a block scalar holds, and what may stand beside the items of a ResourceList.
LINES = ["a", "- a", '"open', "# text", "", "  deeper", "kind: Z", "[", "'x: "]
BESIDE = ["functionConfig:\n  kind: C\n", "unknown: 'x\n\n  - y'\n", "results:\n- message: m\n"]
COMMENTS = ["#", "# plain", "# it's \"open", "# - a: [", "# {", "# key: 'x"]


@dataclass
class Page:
    """Draws the lines of one document; anchors that were written can be referred to."""

    draw: st.DrawFn
    anchors: list[str] = field(default_factory=list)
    anchored: bool = True

    def chance(self, one_in: int) -> bool:
        """Draw a rare event, which shrinks to its absence."""
        return self.draw(st.integers(0, one_in - 1)) == one_in - 1

    def pick(self, values: list[str]) -> str:
        return self.draw(st.sampled_from(values))

    def comment(self) -> str:
        return f" {self.pick(COMMENTS)}" if self.chance(6) else ""

    def trivia(self, column: int) -> list[str]:
        if not self.chance(6):
            return []
        return self.draw(
            st.lists(
                st.sampled_from([" " * column + c for c in [*COMMENTS, ""]]), min_size=1, max_size=3
            )
        )

    def properties(self) -> str:
        if not self.anchored or not self.chance(12):
            return ""
        if self.chance(2):
            return "!!str "
        self.anchors.append(f"n{self.draw(st.integers(0, 9999))}")
        return f"&{self.anchors[-1]} "

    def scalar(self) -> list[str]:
        kind = self.draw(st.integers(0, 9))
        if kind < 4:
            return [self.properties() + self.pick(PLAIN) + self.comment()]
        if kind < 7:
            return [
                self.pick(['"x: y"', "'it''s'", '""', '"\\" # no"', "'# no'", '"- \\\\"'])
                + self.comment()
            ]
        quote = self.pick(['"', "'"])
        if kind < 9 and self.chance(3):
            middle = self.draw(st.lists(st.sampled_from(MISLEADING), min_size=1, max_size=3))
            return [
                f"{quote}open",
                *(PAD + line for line in middle),
                f"{PAD}end{quote}" + self.comment(),
            ]
        return [self.flow()]

    def flow(self) -> str:
        brk = f"\n{PAD}" if self.chance(4) else " "
        return self.pick(FLOWS).replace("~", brk)

    def block(self, column: int) -> list[str]:
        style, chomp = self.pick(["|", ">"]), self.pick(["", "-", "+"])
        content = self.draw(st.lists(st.sampled_from(LINES), max_size=4))
        first = next((line for line in content if line), "")
        depth = "2" if first.startswith(" ") or self.chance(5) else ""
        pad = " " * (column + 2)
        return [style + depth + chomp, *(pad + line if line else "" for line in content)]

    def value(self, column: int, depth: int) -> list[str]:
        kind = self.draw(st.integers(0, 11))
        if depth and kind in {0, 1, 2}:
            inner = column + self.draw(st.sampled_from([2, 4, 1]))
            known = len(self.anchors)
            head = self.properties().rstrip() + self.comment()
            own, self.anchors = self.anchors[known:], self.anchors[:known]
            lines = [head, *self.mapping(inner, depth - 1)]
            self.anchors += [name for name in own if f"&{name} " not in "".join(lines[1:])]
            return lines
        if depth and kind in {3, 4}:
            inner = column + self.draw(st.sampled_from([0, 2]))
            return [self.comment(), *self.sequence(inner, depth - 1)]
        if kind == 5:
            return self.block(column)
        if kind == 6:
            return [self.comment()]
        if kind == 7 and self.anchors:
            return [f"*{self.pick(self.anchors)}"]
        return self.scalar()

    def mapping(self, column: int, depth: int, keys: list[str] | None = None) -> list[str]:
        names = keys or self.draw(
            st.lists(st.sampled_from(KEYS), min_size=1, max_size=4, unique=True)
        )
        lines = []
        for name in names:
            lines += self.trivia(column)
            first, *rest = self.value(column, depth)
            key = self.pick([name, name, f'"{name}"']) if name != "=" else '"="'
            lines += [f"{' ' * column}{key}:{' ' if first else ''}{first}", *rest]
        return lines

    def sequence(self, column: int, depth: int) -> list[str]:
        lines = []
        for _ in range(self.draw(st.integers(1, 3))):
            lines += self.trivia(column)
            if depth and self.chance(2):
                lines += self.dashed(self.mapping(column + 2, depth - 1), column)
            else:
                first, *rest = self.scalar()
                lines += [f"{' ' * column}- {first}", *rest]
        return lines

    def dashed(self, lines: list[str], column: int) -> list[str]:
        for index, line in enumerate(lines):
            if line.strip() and not line.strip().startswith("#"):
                head = [" " * column + above.strip() for above in lines[:index]]
                return [*head, f"{' ' * column}- {line[column + 2 :]}", *lines[index + 1 :]]
        return lines


HEADER = ["apiVersion", "kind", "metadata"]


@st.composite
def objects(draw: st.DrawFn, column: int = 0, *, anchored: bool = True) -> str:
    page = Page(draw, anchored=anchored)
    extra = draw(st.lists(st.sampled_from(KEYS), max_size=3, unique=True))
    names = [*draw(st.permutations(HEADER)), *extra] if extra else HEADER
    lines = page.dashed(page.mapping(column + 2, 3, list(names)), column)
    return "\n".join([*page.trivia(column), *lines]) + "\n"


@st.composite
def resource_lists(draw: st.DrawFn) -> bytes:
    page = Page(draw)
    column = draw(st.sampled_from([0, 0, 2, 4]))
    items = "".join(draw(st.lists(objects(column), min_size=1, max_size=3)))
    fields = [
        "apiVersion: config.kubernetes.io/v1\n",
        "kind: ResourceList\n",
        f"items:{page.comment()}\n{items}",
        *draw(st.lists(st.sampled_from(BESIDE), max_size=1)),
    ]
    order = draw(st.permutations(range(len(fields))))
    text = "".join(
        "".join(f"{line}\n" for line in page.trivia(0)) + fields[index] for index in order
    )
    text = (
        draw(st.sampled_from(["", "", "---\n", "# top\n---\n"]))
        + text
        + draw(st.sampled_from(["", "", "...\n"]))
    )
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"])) + text.encode()


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(LOOKALIKES)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(LOOKALIKES + KEYS) | st.text(st.characters(codec="utf-8"), max_size=30),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
