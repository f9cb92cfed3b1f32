"""Quantities in text: “0.1 s” equals “100 ms”, “10 Hz” differs from “100 Hz”."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from citewell.text.memo import memoize_text

Dimension = tuple[tuple[str, int], ...]
"""Base units with their powers, sorted; empty for a bare number."""

ORDINAL: Dimension = (("ordinal", 1),)

_PREFIXES = {
    "p": -12, "n": -9, "µ": -6, "μ": -6, "u": -6, "m": -3, "c": -2, "d": -1,
    "k": 3, "K": 3, "M": 6, "G": 9, "T": 12,
}  # fmt: skip
_LONG_PREFIXES = {
    "pico": -12, "nano": -9, "micro": -6, "milli": -3, "centi": -2, "deci": -1,
    "kilo": 3, "mega": 6, "giga": 9, "tera": 12,
}  # fmt: skip
_BINARY_PREFIXES = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_SYMBOLS = {
    "m": "m", "s": "s", "g": "g", "A": "A", "K": "K", "mol": "mol", "cd": "cd", "Hz": "Hz",
    "N": "N", "Pa": "Pa", "J": "J", "W": "W", "Wh": "Wh", "Ah": "Ah", "V": "V", "Ω": "Ω",
    "F": "F", "H": "H", "T": "T", "lm": "lm", "lx": "lx", "bit": "bit", "B": "B", "L": "L",
    "l": "L", "rad": "rad", "bps": "bit/s", "px": "px", "eV": "eV",
}  # fmt: skip
_UNIT_NAMES = {
    "metre": "m", "meter": "m", "second": "s", "sec": "s", "gram": "g", "ampere": "A", "amp": "A",
    "kelvin": "K", "hertz": "Hz", "newton": "N", "pascal": "Pa", "joule": "J", "watt": "W",
    "volt": "V", "ohm": "Ω", "farad": "F", "tesla": "T", "lumen": "lm", "lux": "lx", "byte": "B",
    "litre": "L", "liter": "L", "radian": "rad", "bit": "bit", "pixel": "px",
}  # fmt: skip
_OTHER_UNITS = {
    "min": ("s", 60), "minute": ("s", 60), "h": ("s", 3600), "hr": ("s", 3600),
    "hour": ("s", 3600), "day": ("s", 86400), "week": ("s", 604800), "year": ("year", 1),
    "month": ("month", 1), "°": ("°", 1), "deg": ("°", 1), "degree": ("°", 1), "°C": ("°C", 1),
    "°F": ("°F", 1), "rpm": ("rpm", 1), "fps": ("fps", 1), "dB": ("dB", 1), "bar": ("Pa", 100000),
    "ton": ("ton", 1), "tonne": ("g", 10**6), "inch": ("inch", 1), "inches": ("inch", 1),
    "ft": ("ft", 1), "foot": ("ft", 1), "feet": ("ft", 1), "mile": ("mile", 1), "lb": ("lb", 1),
}  # fmt: skip


def _number_words(text: str, first: int = 0, step: int = 1) -> dict[str, int]:
    return {word: first + step * index for index, word in enumerate(re.findall(r"\w+", text))}


_UNDER_20 = _number_words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen"
)
_TENS = _number_words("twenty thirty forty fifty sixty seventy eighty ninety", 20, 10)
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_ORDINALS = _number_words("first second third fourth fifth sixth seventh eighth ninth tenth", 1)
_UNDER_20_WORDS, _TENS_WORDS, _SCALE_WORDS = "|".join(_UNDER_20), "|".join(_TENS), "|".join(_SCALES)
_UNDER_100 = rf"(?:(?:{_TENS_WORDS})(?:[\s-](?:{_UNDER_20_WORDS}))?|{_UNDER_20_WORDS})"
_NUMBER = re.compile(
    r"(?:(?<![\w.,])(?P<sign>[-+−±])|(?<![\w.]))"
    r"(?P<digits>\d{1,3}(?:[,\u00a0\u2009\u202f]\d{3}){1,150}+(?:\.\d++)?+(?![\w.,]{0,64}\d)"
    r"|\d++(?:\.\d++)?+(?:[eE][-+]?\d++)?+(?!\.\d))"
    r"(?P<ordinal>(?:st|nd|rd|th)\b)?(?:[\s-]?(?P<scale>thousand|million|billion)\b)?"
    rf"|\b(?P<words>(?:{_UNDER_100}|{_SCALE_WORDS})(?:(?:[\s-](?:{_SCALE_WORDS})){{1,4}}"
    rf"(?:\s(?:and\s)?{_UNDER_100})?){{0,8}})\b"
    rf"|\b(?<!per )(?<!a )(?<!each )(?<!every )(?P<nth>{'|'.join(_ORDINALS)})\b",
    re.I,
)
_SYMBOL = r"(?:[µμ]?[A-Za-zΩ]+|°[CF]?)"
_UNIT = re.compile(
    rf"[\s\u00a0\u202f-]?(?P<percent>%|percent\b|per cent\b)"
    rf"|[\s\u00a0\u202f-]?(?P<unit>{_SYMBOL}(?:\^?[23²³])?(?:\s?[·⋅*]\s?{_SYMBOL})?"
    rf"(?:(?:\s?/\s?|\s+per\s+){_SYMBOL}(?:\^?[23²³])?)?)(?!\w)"
)
_RANGE_JOINT = re.compile(r"\s*(?:[-–—]|to|and|or|through)\s*", re.I)
_POWERS = {"2": 2, "3": 3, "²": 2, "³": 3}
_EXPONENT = re.compile(r"[eE]([-+]?\d+)$")
MAX_COMPUTED_DIGITS = 400
"""Maximum digits and exponent to compute, since `10**999999999` would block for minutes."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number in base units, with its span."""

    value: Fraction
    dimension: Dimension
    start: int
    end: int
    number: Fraction = Fraction(0)
    """The number as written, without its unit."""
    spelling: str = ""
    """The characters of a number that is too long to compute."""

    @property
    def key(self) -> str:
        """The value with its base units, equal for all notations of the same quantity."""
        unit = " ".join(f"{base}{power}" for base, power in self.dimension)
        return f"{self.spelling or self.value} {unit}"


@memoize_text(8192)
def quantities(text: str) -> tuple[Quantity, ...]:
    """Return the quantities of a text, in order: digits and number words, ordinals, units, percent.

    “5 to 10 Hz” names two frequencies; 50 % is 0.5; a version like 2.0.1 is none.
    """
    result = list(_parse_quantities(text))
    for index in range(len(result) - 2, -1, -1):
        quantity, following = result[index], result[index + 1]
        is_range = _RANGE_JOINT.fullmatch(text, quantity.end, following.start)
        if is_range and not quantity.dimension and following.dimension not in ((), ORDINAL):
            value = quantity.value * _scale_of(text, following)
            result[index] = replace(quantity, value=value, dimension=following.dimension)
    return tuple(result)


def _parse_quantities(text: str) -> Iterator[Quantity]:
    end = 0
    for number in _NUMBER.finditer(text):
        if number.start() < end:  # a number inside a unit: the power of “m2”
            continue
        if number["nth"]:
            value = Fraction(_ORDINALS[number["nth"].lower()])
            yield Quantity(value, ORDINAL, number.start(), number.end(), value)
            continue
        spelling = number[0] if _is_too_long(number["digits"] or "") else ""
        value = Fraction(0) if spelling else _value(number)
        if number["ordinal"]:
            yield Quantity(value, ORDINAL, number.start(), number.end(), value, spelling)
            continue
        factor, dimension, end = _unit_after(text, number.end())
        yield Quantity(value * factor, dimension, number.start(), end, value, spelling)


def _is_too_long(digits: str) -> bool:
    if len(digits) > MAX_COMPUTED_DIGITS:
        return True
    exponent = _EXPONENT.search(digits)
    return exponent is not None and abs(int(exponent[1])) > MAX_COMPUTED_DIGITS


def _value(number: re.Match[str]) -> Fraction:
    if number["words"]:
        return Fraction(_parse_number_words(number["words"].lower()))
    value = Fraction(re.sub(r"[,\s]", "", number["digits"]))
    value *= _SCALES[number["scale"].lower()] if number["scale"] else 1
    return -value if number["sign"] in ("-", "−") else value


def _parse_number_words(words: str) -> int:
    total = group = 0
    for word in re.findall(r"[a-z]+", words):
        if word in _SCALES:
            group = (group or 1) * _SCALES[word]
            if word != "hundred":
                total, group = total + group, 0
        else:
            group += _UNDER_20.get(word, 0) + _TENS.get(word, 0)
    return total + group


def _unit_after(text: str, end: int) -> tuple[Fraction, Dimension, int]:
    match = _UNIT.match(text, end)
    if not match:
        return Fraction(1), (), end
    if match["percent"]:
        return Fraction(1, 100), (), match.end()
    # “10 m long” reads as a unit with a word behind it: shorter readings are tried in turn.
    for size in range(len(match["unit"]), 0, -1):
        stop = match.start("unit") + size
        if text[stop : stop + 1].isalnum() and text[stop - 1].isalnum():
            continue
        parsed = _parse_compound_unit(match["unit"][:size])
        if parsed:
            return *parsed, stop
    return Fraction(1), (), end


def _parse_compound_unit(unit: str) -> tuple[Fraction, Dimension] | None:
    factor, powers = Fraction(1), dict[str, int]()
    for sign, part in _factors(unit):
        power = sign * _POWERS.get(part[-1], 1) if len(part) > 1 else sign
        single = _parse_unit(part.rstrip("^23²³"))
        if single is None:
            return None
        factor *= single[0] ** power
        powers[single[1]] = powers.get(single[1], 0) + power
    return factor, tuple(sorted((base, power) for base, power in powers.items() if power))


def _factors(unit: str) -> Iterator[tuple[int, str]]:
    numerator, *denominators = re.split(r"\s?/\s?|\s+per\s+", re.sub(r"\bNm\b", "N·m", unit))
    for part in re.split(r"\s?[·⋅*]\s?", numerator):
        yield 1, part
    for part in denominators:
        yield -1, part


@lru_cache(maxsize=4096)
def _parse_unit(symbol: str) -> tuple[Fraction, str] | None:
    """Parse a unit by its name, or by its case-sensitive symbol with a prefix."""
    word = symbol.lower()
    names = (symbol, word, word.removesuffix("s")) if len(word) > 1 else (symbol,)
    fixed = [_OTHER_UNITS[name] for name in names if name in _OTHER_UNITS]
    if fixed:
        return Fraction(fixed[0][1]), fixed[0][0]
    return _unit_by_symbol(symbol) or _unit_by_name(word) or _unit_by_name(word.removesuffix("s"))


def _unit_by_name(name: str) -> tuple[Fraction, str] | None:
    prefixes = {"": 0, **_LONG_PREFIXES}
    return next(
        (
            (Fraction(10) ** power, _UNIT_NAMES[name[len(prefix) :]])
            for prefix, power in prefixes.items()
            if name.startswith(prefix) and name[len(prefix) :] in _UNIT_NAMES
        ),
        None,
    )


def _unit_by_symbol(symbol: str) -> tuple[Fraction, str] | None:
    if symbol in _SYMBOLS:
        return Fraction(1), _SYMBOLS[symbol]
    if symbol[:2] in _BINARY_PREFIXES and symbol[2:] in ("B", "bit"):
        return Fraction(_BINARY_PREFIXES[symbol[:2]]), _SYMBOLS[symbol[2:]]
    base = _SYMBOLS.get(symbol[1:])
    # A capital K for a thousand is written before bytes only.
    if base and symbol[0] in _PREFIXES and (symbol[0] != "K" or base == "B"):
        return Fraction(10) ** _PREFIXES[symbol[0]], base
    return None


def _scale_of(text: str, quantity: Quantity) -> Fraction:
    number = _NUMBER.match(text, quantity.start)
    assert number, "a quantity begins with its number"
    return _unit_after(text, number.end())[0]
