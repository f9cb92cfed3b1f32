"""Words that are exchanged to turn a true sentence into a lie."""

UNITS = {
    "Hz": "kHz", "kHz": "MHz", "MHz": "GHz", "ms": "s", "seconds": "minutes", "second": "minute",
    "minutes": "hours", "minute": "hour", "hours": "days", "hour": "week", "days": "weeks",
    "day": "month", "weeks": "months", "months": "years", "years": "months", "mm": "cm", "cm": "m",
    "km": "m", "MB": "GB", "GB": "TB", "KB": "MB", "kg": "g", "mg": "g", "nm": "mm", "µm": "mm",
    "meters": "kilometers", "metres": "kilometres", "degrees": "radians",
    "million": "billion", "billion": "million", "bytes": "megabytes",
}  # fmt: skip

OPPOSITES = (
    ("increases", "decreases"), ("increase", "decrease"), ("increased", "decreased"),
    ("increasing", "decreasing"), ("higher", "lower"), ("highest", "lowest"), ("larger", "smaller"),
    ("largest", "smallest"), ("faster", "slower"), ("maximum", "minimum"), ("always", "never"),
    ("enables", "disables"), ("enable", "disable"), ("enabled", "disabled"), ("same", "opposite"),
    ("allows", "prevents"), ("positive", "negative"), ("internal", "external"), ("inside", "outside"),
    ("required", "forbidden"), ("possible", "impossible"), ("mutable", "immutable"),
    ("synchronous", "asynchronous"), ("longer", "shorter"), ("stronger", "weaker"),
    ("easier", "harder"), ("majority", "minority"), ("includes", "excludes"), ("adds", "removes"),
    ("gain", "lose"), ("reduces", "raises"), ("reduce", "raise"), ("accepts", "rejects"),
    ("successful", "unsuccessful"), ("common", "rare"), ("safe", "unsafe"), ("valid", "invalid"),
    ("active", "inactive"), ("static", "dynamic"), ("public", "private"), ("older", "younger"),
    ("earlier", "later"), ("best", "worst"), ("upper", "lower"), ("horizontal", "vertical"),
    ("clockwise", "counterclockwise"), ("acute", "chronic"), ("more", "less"), ("most", "least"),
)  # fmt: skip

PREFIXED = {
    "unable": "able", "unsafe": "safe", "unstable": "stable", "invalid": "valid", "inactive": "active",
    "unknown": "known", "unsigned": "signed", "disabled": "enabled", "disconnected": "connected",
    "irreversible": "reversible", "asynchronous": "synchronous", "immutable": "mutable",
    "unlike": "like", "unlikely": "likely", "unnecessary": "necessary", "impossible": "possible",
    "incorrect": "correct", "incomplete": "complete", "incompatible": "compatible",
    "inconsistent": "consistent", "unlimited": "limited", "unused": "used", "undefined": "defined",
    "unpublished": "published", "unmanaged": "managed", "indirect": "direct", "independent": "dependent",
    "uncommon": "common", "irregular": "regular", "insoluble": "soluble", "inorganic": "organic",
    "anaerobic": "aerobic", "unstructured": "structured", "unrelated": "related", "unequal": "equal",
    "underestimate": "overestimate", "insufficient": "sufficient", "ineffective": "effective",
    "unsuccessful": "successful", "nonpathogenic": "pathogenic", "unsupported": "supported",
    "unchanged": "changed", "unpredictable": "predictable", "unresponsive": "responsive",
    "irrelevant": "relevant", "multicellular": "unicellular", "exothermic": "endothermic",
}  # fmt: skip

WIDER = (
    ("some", "all"), ("can", "always"), ("often", "always"), ("usually", "always"), ("may", "must"),
    ("typically", "invariably"), ("sometimes", "always"), ("might", "will certainly"),
    ("most", "all"), ("many", "all"), ("several", "all"), ("generally", "without exception"),
    ("likely", "certainly"), ("partly", "entirely"), ("up to", "at least"), ("at least", "at most"),
    ("suggests", "proves"), ("suggest", "prove"), ("one of the", "the only one of the"),
)  # fmt: skip

PAST = {
    "received": "receive", "developed": "develop", "discovered": "discover", "showed": "show",
    "found": "find", "became": "become", "won": "win", "reached": "reach", "produced": "produce",
    "established": "establish", "created": "create", "published": "publish", "signed": "sign",
    "completed": "complete", "passed": "pass", "accepted": "accept", "joined": "join",
    "gained": "gain", "obtained": "obtain", "identified": "identify", "ordered": "order",
    "built": "build", "introduced": "introduce", "defeated": "defeat", "proved": "prove",
    "supported": "support", "provided": "provide", "followed": "follow", "reported": "report",
    "captured": "capture", "released": "release", "adopted": "adopt", "replaced": "replace",
    "announced": "announce", "returned": "return", "founded": "found", "conquered": "conquer",
    "wrote": "write", "took": "take", "sold": "sell", "sent": "send", "led": "lead",
}  # fmt: skip
