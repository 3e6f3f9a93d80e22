"""Lines of text to tokenize: the project's own words, and unusual Unicode and bytes. No line holds
a newline or a NUL; some are not UTF-8."""

MARKS = [0x300, 0x301, 0x308, 0x327, 0x32D, 0x338, 0x345, 0x20DD, 0x20E3, 0x3099, 0x309A, 0x5B0,
         0x64B, 0x93C, 0x94D, 0xE31, 0xE48, 0x1AB0, 0x1DC4, 0xFE20]
SPACES = [0x20, 0x20, 0x20, 0x09, 0x0B, 0x0C, 0x0D, 0x85, 0xA0, 0x1680, 0x180E, 0x2000, 0x2003,
          0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF, 0x2581]
INVISIBLE = [0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x202A, 0x202E, 0x2060, 0x2066, 0x2069, 0xAD,
             0x34F, 0x61C, 0xFE0E, 0xFE0F, 0xFFF9, 0xE0001, 0xE0041]
CONTROLS = [*range(1, 10), *range(11, 32), *range(0x7F, 0xA0)]
PICTURES = [0x1F600, 0x1F468, 0x1F469, 0x1F467, 0x1F466, 0x1F3FB, 0x1F3FF, 0x2764, 0x1F525,
            0x1F1E9, 0x1F1EA, 0x1F3F4, 0x1F680, 0x1F9D1, 0x231A]
# Characters that compatibility normalisation decomposes, and blocks of them.
COMPATIBLE = [0xFDFA, 0xFDFB, 0x1E9B, 0x132, 0x1C4, 0x2126, 0x212B, 0xFB03, 0x3392, 0x33A5, 0x2163,
              0x2460, 0xBD, 0xB2, 0xB5, 0x130, 0x17F, 0xDF, 0x1E9E, 0x3A3, 0x3C2, 0x390, 0x344]
COMPATIBLE += [*range(0xFF01, 0xFFEF), *range(0x3300, 0x3358), *range(0xFB1D, 0xFB50),
               *range(0x1D400, 0x1D4FF), *range(0x3131, 0x318F), *range(0x1100, 0x11FF)]
SCRIPTS = [(0xC0, 0x17F), (0x391, 0x3C9), (0x410, 0x44F), (0x5D0, 0x5EA), (0x621, 0x64A),
           (0x904, 0x939), (0xE01, 0xE3A), (0x1E00, 0x1EFF), (0x3041, 0x3096), (0x30A1, 0x30FA),
           (0x4E00, 0x9FA5), (0xAC00, 0xD7A3), (0x10330, 0x1034A), (0x20000, 0x2A6D6)]
ASCII = [*range(0x21, 0x7F)]
BROKEN = [b"\x80", b"\xBF", b"\xC0\x80", b"\xC3", b"\xE2\x82", b"\xED\xA0\x80", b"\xED\xBF\xBF",
          b"\xF0\x9F\x98", b"\xF4\x90\x80\x80", b"\xF5", b"\xFE", b"\xFF", b"\xE2\x96", b"\xC1\xBF",
          b"\xE0\x80\x80", b"\xF8\x88\x80\x80\x80", b"\xEF\xBF\xBD", b"\xEF\xBF\xBF"]


def characters(rng, kind, count):
    return b"".join(chr(rng.choice(kind)).encode() for _ in range(count))


def script(rng):
    first, last = rng.choice(SCRIPTS)
    return b"".join(chr(rng.randint(first, last)).encode() for _ in range(rng.randint(1, 12)))


def any_character(rng):
    code = rng.choice([rng.randrange(0xA0, 0xD800), rng.randrange(0xE000, 0x10000),
                       rng.randrange(0x10000, 0x20000), rng.randrange(0x110000)])
    return chr(code if not 0xD800 <= code < 0xE000 and code not in (0, 10) else 0xFFFD).encode()


def marked(rng):
    base = rng.choice([ASCII, range(0xC0, 0x180), range(0x3041, 0x3097), SPACES])
    return characters(rng, base, 1) + characters(rng, MARKS, rng.randint(1, 4))


def family(rng):
    joined = [characters(rng, PICTURES, 1) + characters(rng, [0xFE0F, 0x1F3FD], rng.randint(0, 1))
              for _ in range(rng.randint(1, 4))]
    return "\u200d".encode().join(joined)


def long_run(rng):
    unit = rng.choice([characters(rng, rng.choice([ASCII, SPACES, MARKS, PICTURES, COMPATIBLE]),
                                  rng.randint(1, 3)), script(rng), rng.choice(BROKEN)])
    return unit * (1 + min(int(rng.paretovariate(0.6)), 400))


def odd_part(rng, words, symbols):
    kinds = [
        lambda: b" " + rng.choice(words), lambda: rng.choice(words), lambda: script(rng),
        lambda: characters(rng, SPACES, rng.randint(1, 4)), lambda: marked(rng),
        lambda: characters(rng, COMPATIBLE, rng.randint(1, 4)), lambda: family(rng),
        lambda: characters(rng, INVISIBLE, rng.randint(1, 2)), lambda: rng.choice(BROKEN),
        lambda: characters(rng, CONTROLS, 1), lambda: characters(rng, ASCII, rng.randint(1, 6)),
        lambda: b"".join(any_character(rng) for _ in range(rng.randint(1, 4))),
        lambda: long_run(rng), lambda: rng.choice(symbols),
        lambda: rng.choice(symbols)[:rng.randint(1, 3)],
    ]
    return rng.choice(kinds)()


def odd_lines(rng, plain, symbols, count):
    """`plain`: lines of ordinary text, to take words from; `symbols`: tokens to mention."""
    words = sorted({word for line in plain for word in line.split()})
    lines = [b"", b" ", b"  ", "\u3000".encode(), "\u2581".encode(), "\u2581\u2581a\u2581".encode()]
    lines += [symbol + tail for symbol in symbols for tail in (b"", b" ", symbol, b"  x ")]
    while len(lines) < count:
        parts = rng.randint(1, rng.choice([3, 10, 30]))
        line = b"".join(odd_part(rng, words, symbols) for _ in range(parts))
        lines.append(line.replace(b"\n", b"").replace(b"\0", b""))
    return lines[:count]
