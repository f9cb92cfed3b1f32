"""What modules export is worked out from their text; nothing of them is run."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.errors import UnreadableFile
from citewell.ingest.formats.docusaurus.js_module import find_object, read_module
from citewell.ingest.formats.docusaurus.js_values import UNKNOWN
from citewell.options import IngestOptions
from tests.ingest.ingest_helpers import WriteBook

OPTIONS = IngestOptions()


def read(folder: Path, name: str = "a.ts") -> object:
    return read_module(folder / name, folder, OPTIONS)


@pytest.mark.parametrize(
    "module",
    [
        "module.exports = {a: 1};",
        "export default {a: 1};",
        "const x = {a: 1};\nexport default x;",
        "const x: Config = {a: 1} satisfies Config;\nmodule.exports = x;",
        "export default function config() { return {a: 1}; }",
        "module.exports = async function () { const a = 1; return {a}; };",
        "module.exports = async () => ({a: 1});",
        "export const a = 1;",
        "exports.a = 1;",
        "const a = 1; export {a};",
        "const x = {a: 1} as const; const y = {...x}; export {y as default};",
        "const [b, c] = []; module.exports = (() => ({a: 1}))();",
    ],
)
def test_what_a_module_exports_is_found_however_it_is_written(
    write_book: WriteBook, module: str
) -> None:
    assert read(write_book({"a.ts": module})) == {"a": 1}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("'it\\'s'", "it's"),
        (r'"\u00e9\x41\u{1F600}\n"', "éA😀\n"),
        ("`a${1 + 2}b`", "a3b"),
        ("`a${unknown}`", UNKNOWN),
        ("-1.5", -1.5),
        ("0x10", 16),
        ("[1, ...[2, 3], /* no */ 4]", [1, 2, 3, 4]),
        ("{'a b': 1, [`c`]: 2, ...{d: 3}, e() { return 1; }}.d", 3),
        ("process.env.NAME ?? 'x'", "x"),
        ("process.env.NAME || 'x'", "x"),
        ("process.env.NODE_ENV === 'production' ? 1 : 2", 1),
        ("unknown ? 1 : 2", UNKNOWN),
        ("unknown ? 1 : 1", 1),
        ("!null && 'yes'", "yes"),
        ("'a' + 1", "a1"),
        ("[1, 2].map((n) => n + 1)", [2, 3]),
        ("[0, 1, null].filter(Boolean)", [1]),
        ("[1, 2].filter((n) => n === 2)", [2]),
        ("[[1], 2].flat().concat([3], 4)", [1, 2, 3, 4]),
        ("[1, 2].flatMap((n) => [n, n])", [1, 1, 2, 2]),
        ("['a', 'b'].join('/')", "a/b"),
        ("Object.entries({a: 1})", [["a", 1]]),
        ("Object.keys({a: 1})[0]", "a"),
        ("((a, {b, c: d}, e = 5) => [a, b, d, e])(1, {b: 2, c: 3})", [1, 2, 3, 5]),
        ("(function () { if (x) { return 1; } return 2; })()", UNKNOWN),
        ("require.resolve('@docusaurus/preset-classic')", "@docusaurus/preset-classic"),
        ("require('fs')", UNKNOWN),
        ("new Date()", UNKNOWN),
        ("/x/.test('x')", UNKNOWN),
        ("undefined", None),
    ],
)
def test_an_expression_has_the_value_that_running_it_would_give(
    write_book: WriteBook, expression: str, value: object
) -> None:
    assert read(write_book({"a.ts": f"module.exports = {expression};"})) == value


def test_modules_are_taken_from_files_beside_them(write_book: WriteBook) -> None:
    folder = write_book(
        {
            "a.ts": "import b, {c as d} from './b';\nimport * as e from './b';\n"
            "import type {X} from 'x';\nimport data from './data.json';\n"
            "const {f} = require('./c.cjs');\nexport default {b, d, e: e.c, data, f,"
            " path: require.resolve('./b'), here: path.join(__dirname, 'docs')};",
            "b.js": "export const c = 2; export default 1;",
            "c.cjs": "module.exports = {f: 3};",
            "data.json": '{"x": 4}',
        }
    )

    assert read(folder) == {
        "b": 1,
        "d": 2,
        "e": 2,
        "data": {"x": 4},
        "f": 3,
        "path": str((folder / "b.js").resolve()),
        "here": str(folder.resolve() / "docs"),
    }


def test_modules_outside_the_site_and_in_circles_are_not_followed(write_book: WriteBook) -> None:
    folder = write_book(
        {
            "site/a.ts": "import out from '../out';\nimport b from './b';\n"
            "export default {out, b};",
            "site/b.ts": "import a from './a';\nexport default [a];",
            "out.js": "export default 'secret';",
        }
    )

    assert read_module(folder / "site/a.ts", folder / "site", OPTIONS) == {
        "out": UNKNOWN,
        "b": [UNKNOWN],
    }


@pytest.mark.parametrize(
    "module",
    [
        "const f = (n) => f(n); export default f(1);",
        "export default " + "[" * 3000 + "]" * 3000,
        "const a = b, b = a; const f = (x) => [f(x), f(x)]; export default f(1);",
    ],
)
def test_a_module_that_never_ends_is_given_up(write_book: WriteBook, module: str) -> None:
    with pytest.raises(UnreadableFile, match=r"nested too deeply|takes too long"):
        read(write_book({"a.ts": module}))


def test_a_module_that_multiplies_is_given_up(write_book: WriteBook) -> None:
    doubled = "".join(f"const a{n + 1} = () => [a{n}(), a{n}()];" for n in range(40))
    with pytest.raises(UnreadableFile, match="takes too long"):
        read(write_book({"a.ts": f"const a0 = () => 1; {doubled} export default a40();"}))


@pytest.mark.parametrize("doubled", ["[...a{n}, ...a{n}]", "`${{a{n}}}${{a{n}}}`", "a{n} + a{n}"])
def test_a_module_that_fills_the_memory_is_given_up(write_book: WriteBook, doubled: str) -> None:
    start = "[1]" if doubled.startswith("[") else "'x'"
    lines = "".join(f"const a{n + 1} = {doubled.format(n=n)};" for n in range(60))
    with pytest.raises(UnreadableFile, match="takes too long"):
        read(write_book({"a.ts": f"const a0 = {start}; {lines} export default a60;"}))


@pytest.mark.parametrize("name", ["a.json", "a.ts"])
def test_a_module_that_is_not_one_gives_nothing_or_says_so(
    write_book: WriteBook, name: str
) -> None:
    folder = write_book({name: "{ this is neither"})

    if name == "a.json":
        with pytest.raises(UnreadableFile, match="is not valid JSON"):
            read(folder, name)
    else:
        assert read(folder, name) is UNKNOWN


def test_an_object_is_found_where_a_function_of_a_package_takes_it(write_book: WriteBook) -> None:
    folder = write_book(
        {"a.ts": "const title = 'T'; module.exports = wrap({x: {}}, {title, url: 'u'});"}
    )

    assert find_object(folder / "a.ts", frozenset(("title", "url")), OPTIONS) == {
        "title": "T",
        "url": "u",
    }
    assert find_object(folder / "a.ts", frozenset(("other", "url")), OPTIONS) is None


TOKENS = (
    *"{}[]()`'\"$,;:.=>+-!?&|/*\\\n ",
    *("a", "b", "1", "=>", "...", "${", "const ", "export default ", "module.exports = "),
    *("return ", "async ", "function ", "require(", ".map(", "?? ", "=== ", "import a from './a';"),
)


@given(st.lists(st.sampled_from(TOKENS), max_size=60).map("".join))
def test_no_text_breaks_the_reading_of_modules(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    folder = tmp_path_factory.getbasetemp()
    (folder / "a.ts").write_text(text, "utf-8")

    with suppress(UnreadableFile):
        read(folder)
