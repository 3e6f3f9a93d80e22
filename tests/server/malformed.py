"""Malformed and odd requests as raw bytes, with the status that is due for each."""

HOST = b"Host: localhost\r\n"
GET = b"GET /hello HTTP/1.1\r\n"
POST = b"POST /echo HTTP/1.1\r\n" + HOST
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"


def get(*fields):
    return GET + HOST + b"".join(f + b"\r\n" for f in fields) + b"\r\n"


def target(path, method=b"GET"):
    return method + b" " + path + b" HTTP/1.1\r\n" + HOST + b"\r\n"


def post(*fields, body=b""):
    return POST + b"".join(f + b"\r\n" for f in fields) + b"\r\n" + body


REQUEST_LINES = [
    ("no HTTP", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
    ("HTTP/0.9", b"GET /hello\r\n\r\n", 400),
    ("no target", b"GET HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    ("empty target", b"GET  HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    ("two spaces before the version", b"GET /hello  HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    ("a tab for a space", b"GET\t/hello HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    ("space behind the version", b"GET /hello HTTP/1.1 \r\n" + HOST + b"\r\n", 400),
    ("space before the method", b" GET /hello HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    ("lower-case method", target(b"/hello", b"get"), 400),
    ("method with a digit", target(b"/hello", b"G3T"), 400),
    ("method with a colon", target(b"/hello", b"GET:"), 400),
    ("method with a null", target(b"/hello", b"GE\0T"), 400),
    ("long method", target(b"/hello", b"A" * 40), 400),
    ("no method", b"/hello HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    ("lower-case protocol", b"GET /hello http/1.1\r\n" + HOST + b"\r\n", 400),
    ("another protocol", b"GET /hello HTTQ/1.1\r\n" + HOST + b"\r\n", 400),
    ("no version", b"GET /hello HTTP/\r\n" + HOST + b"\r\n", 400),
    ("version without a point", b"GET /hello HTTP/11\r\n" + HOST + b"\r\n", 400),
    ("HTTP/2 in clear", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    ("HTTP/2.0", b"GET /hello HTTP/2.0\r\n" + HOST + b"\r\n", 505),
    ("HTTP/1.2", b"GET /hello HTTP/1.2\r\n" + HOST + b"\r\n", 505),
    ("HTTP/0.9 by name", b"GET /hello HTTP/0.9\r\n" + HOST + b"\r\n", 505),
    ("HTTP/1.10", b"GET /hello HTTP/1.10\r\n" + HOST + b"\r\n", 400),
    ("bare LF", b"GET /hello HTTP/1.1\nHost: localhost\n\n", 400),
    ("bare LF before the request", b"\n" + get(), 400),
    ("bare CR before the request", b"\r" + get(), 400),
    ("many empty lines before the request", b"\r\n" * 8 + get(), 400),
    ("CR in the request line", b"GET /he\rllo HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    ("a long request line", b"GET /" + b"a" * 20000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 414),
    ("a request line without end", b"GET /" + b"a" * 40000, 414),
]

TARGETS = [
    ("absolute target without a host", target(b"http:///hello"), 400),
    ("absolute target with a user", target(b"http://a@localhost/hello"), 400),
    ("absolute target with a bad port", target(b"http://localhost:8o/hello"), 400),
    ("absolute target of another scheme", target(b"ftp://localhost/hello"), 400),
    ("absolute target with a fragment", target(b"http://localhost/hello#there"), 400),
    ("absolute target without Host", b"GET http://localhost/hello HTTP/1.1\r\n\r\n", 400),
    ("authority as target", target(b"localhost:80", b"CONNECT"), 400),
    ("target without a slash", target(b"hello"), 400),
    ("a star to GET", target(b"*"), 400),
    ("fragment", target(b"/hello#there"), 400),
    ("lone percent", target(b"/hello%"), 400),
    ("percent and one digit", target(b"/hello%4"), 400),
    ("percent and no digits", target(b"/hello%zz"), 400),
    ("escaped null", target(b"/hello%00"), 400),
    ("quote", target(b'/hello"'), 400),
    ("angle bracket", target(b"/hello<"), 400),
    ("backslash", target(b"/hello\\x"), 400),
    ("brace", target(b"/hello{}"), 400),
    ("byte above 127", target(b"/hell\xc3\xb6"), 400),
    ("null in the target", target(b"/he\0llo"), 400),
    ("delete in the target", target(b"/he\x7fllo"), 400),
    ("percent in the query", target(b"/hello?a=%1"), 400),
]

FIELDS = [
    ("no Host", GET + b"\r\n", 400),
    ("two Hosts", get(b"Host: localhost"), 400),
    ("two Hosts in HTTP/1.0", b"GET /hello HTTP/1.0\r\n" + HOST + HOST + b"\r\n", 400),
    ("empty Host", GET + b"Host:\r\n\r\n", 400),
    ("Host with a path", GET + b"Host: localhost/x\r\n\r\n", 400),
    ("Host with a user", GET + b"Host: a@localhost\r\n\r\n", 400),
    ("Host with a space", GET + b"Host: local host\r\n\r\n", 400),
    ("Host list", GET + b"Host: a, b\r\n\r\n", 400),
    ("Host with a bad port", GET + b"Host: localhost:8o\r\n\r\n", 400),
    ("Host with a long port", GET + b"Host: localhost:123456\r\n\r\n", 400),
    ("Host with an open bracket", GET + b"Host: [::1\r\n\r\n", 400),
    ("Host with letters in brackets", GET + b"Host: [xyz]\r\n\r\n", 400),
    ("space before the colon", get(b"Accept : */*"), 400),
    ("tab before the colon", get(b"Accept\t: */*"), 400),
    ("no colon", get(b"Accept"), 400),
    ("no name", get(b": x"), 400),
    ("name with a space", get(b"Acc ept: x"), 400),
    ("name with a bracket", get(b"Acc(ept: x"), 400),
    ("name with a byte above 127", get(b"Acc\xe9pt: x"), 400),
    ("folded line", get(b"Accept: a\r\n b"), 400),
    ("folded by a tab", get(b"Accept: a\r\n\tb"), 400),
    ("first field folded", GET + b" Host: localhost\r\n\r\n", 400),
    ("null in a value", get(b"Accept: a\0b"), 400),
    ("bell in a value", get(b"Accept: a\7b"), 400),
    ("delete in a value", get(b"Accept: a\x7fb"), 400),
    ("bare CR in a value", get(b"Accept: a\rb"), 400),
    ("bare LF in a value", get(b"Accept: a\nX: b"), 400),
    ("101 fields", get(*[b"X: y"] * 100), 431),
    ("a large field", get(b"X: " + b"y" * 20000), 431),
    ("a field without end", GET + b"X: " + b"y" * 40000, 431),
    ("many small fields without end", GET + HOST + b"X: y\r\n" * 3000, 431),
    ("unknown expectation", post(b"Expect: coffee", b"Content-Length: 1"), 417),
    ("unknown expectation behind a close",
     post(b"Connection: close", b"Expect: coffee", b"Content-Length: 1"), 417),
    ("a body by gzip", post(b"Content-Encoding: gzip", b"Content-Length: 1"), 415),
    ("chunks by deflate", post(b"Content-Encoding: deflate", b"Transfer-Encoding: chunked"), 415),
    ("expectations in a list", post(b"Expect: 100-continue, x", b"Content-Length: 1"), 417),
]

FRAMING = [
    ("length and chunked", post(b"Content-Length: 3", b"Transfer-Encoding: chunked"), 400),
    ("chunked and length", post(b"Transfer-Encoding: chunked", b"Content-Length: 3"), 400),
    ("length and gzip", post(b"Content-Length: 3", b"Transfer-Encoding: gzip"), 400),
    ("two lengths", post(b"Content-Length: 3", b"Content-Length: 4"), 400),
    ("the same length twice", post(b"Content-Length: 3", b"Content-Length: 3"), 400),
    ("a list of lengths", post(b"Content-Length: 3, 3"), 400),
    ("negative length", post(b"Content-Length: -3"), 400),
    ("length with a plus", post(b"Content-Length: +3"), 400),
    ("hexadecimal length", post(b"Content-Length: 0x3"), 400),
    ("length with a fraction", post(b"Content-Length: 3.0"), 400),
    ("empty length", post(b"Content-Length:"), 400),
    ("length in words", post(b"Content-Length: three"), 400),
    ("length with a space", post(b"Content-Length: 3 3"), 400),
    ("length beyond 64 bits", post(b"Content-Length: 99999999999999999999"), (400, 413)),
    ("largest length", post(b"Content-Length: 18446744073709551615"), 413),
    ("length beyond the limit", post(b"Content-Length: 8388609"), 413),
    ("gzip", post(b"Transfer-Encoding: gzip"), 501),
    ("gzip, chunked", post(b"Transfer-Encoding: gzip, chunked"), 501),
    ("chunked, gzip", post(b"Transfer-Encoding: chunked, gzip"), 501),
    ("xchunked", post(b"Transfer-Encoding: xchunked"), 501),
    ("quoted chunked", post(b'Transfer-Encoding: "chunked"'), 501),
    ("chunked with a parameter", post(b"Transfer-Encoding: chunked;q=1"), 501),
    ("identity", post(b"Transfer-Encoding: identity"), 501),
    ("chunked twice", post(b"Transfer-Encoding: chunked, chunked"), 400),
    ("chunked in two fields", post(*[b"Transfer-Encoding: chunked"] * 2), 400),
    ("chunked and a comma", post(b"Transfer-Encoding: chunked,"), 400),
    ("no coding", post(b"Transfer-Encoding:"), 400),
    ("chunked after a vertical tab", post(b"Transfer-Encoding: \x0bchunked"), 400),
    ("chunked in HTTP/1.0",
     b"POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
]

CHUNKS = [
    ("size that is no number", CHUNKED + b"x\r\n", 400),
    ("no size", CHUNKED + b"\r\n", 400),
    ("negative size", CHUNKED + b"-1\r\n", 400),
    ("size with 0x", CHUNKED + b"0x5\r\nhello\r\n", 400),
    ("space before a size", CHUNKED + b" 5\r\nhello\r\n", 400),
    ("space behind a size", CHUNKED + b"5 \r\nhello\r\n", 400),
    ("size of 17 digits", CHUNKED + b"00000000000000005\r\nhello\r\n", 400),
    ("size beyond 64 bits", CHUNKED + b"10000000000000005\r\nhello\r\n", 400),
    ("size beyond the limit", CHUNKED + b"ffffffffffffffff\r\n" + b"x" * (9 << 20), 413),
    ("bare LF behind a size", CHUNKED + b"5\nhello\r\n", 400),
    ("bare CR behind a size", CHUNKED + b"5\rhello\r\n", 400),
    ("no line end behind a chunk", CHUNKED + b"5\r\nhello0\r\n\r\n", 400),
    ("bare LF behind a chunk", CHUNKED + b"5\r\nhello\n0\r\n\r\n", 400),
    ("a long extension", CHUNKED + b"5;" + b"a" * 60000 + b"\r\nhello\r\n", 400),
    ("many extensions", CHUNKED + (b"1;" + b"a" * 200 + b"\r\nx\r\n") * 30, 400),
    ("control character in an extension", CHUNKED + b"5;a\0\r\nhello\r\n", 400),
    ("bare LF in an extension", CHUNKED + b"5;a\nhello\r\n", 400),
    ("a long trailer", CHUNKED + b"0\r\n" + b"X: y\r\n" * 1000, 400),
    ("trailer without a colon", CHUNKED + b"0\r\nX\r\n\r\n", 400),
    ("trailer without a name", CHUNKED + b"0\r\n: x\r\n\r\n", 400),
    ("folded trailer", CHUNKED + b"0\r\nX: a\r\n b\r\n\r\n", 400),
    ("null in a trailer", CHUNKED + b"0\r\nX: \0\r\n\r\n", 400),
    ("bare LF at the end", CHUNKED + b"0\r\n\n", 400),
]

# Requests that are valid so far; then the client closes its side.
CUT_OFF = [
    ("half a request line", b"GET /hel", 400),
    ("a header without its end", GET + HOST, 400),
    ("half a body", post(b"Content-Length: 10", body=b"hello"), 400),
    ("half a chunk", CHUNKED + b"5\r\nhel", 400),
    ("no last chunk", CHUNKED + b"5\r\nhello\r\n", 400),
]

MALFORMED = REQUEST_LINES + TARGETS + FIELDS + FRAMING + CHUNKS

# Odd but valid requests: (name, bytes, body of the answer).
ALLOWED = [
    ("an empty line before", b"\r\n" + get(), b"hello "),
    ("no space behind the colon", GET + b"Host:localhost\r\n\r\n", b"hello "),
    ("space behind a value", get(b"Accept: a \t "), b"hello "),
    ("empty value", get(b"Accept:"), b"hello "),
    ("byte above 127 in a value", get(b"X: \xc3\xb6"), b"hello "),
    ("Host with a port", GET + b"Host: localhost:8080\r\n\r\n", b"hello "),
    ("Host of IPv6", GET + b"hOST: [::1]:8080\r\n\r\n", b"hello "),
    ("100 fields", get(*[b"X: y"] * 99), b"hello "),
    ("query", target(b"/target?a=%20&b=c?d/e"), b"GET /target a=%20&b=c?d/e"),
    ("absolute target", target(b"http://localhost/target?a=b"), b"GET /target a=b"),
    ("absolute target of HTTPS", target(b"HTTPS://a.example:1/target"), b"GET /target "),
    ("absolute target without a path", target(b"http://localhost?a=b"), b"path /"),
    ("absolute target in HTTP/1.0", b"GET http://localhost/target HTTP/1.0\r\n\r\n",
     b"GET /target "),
    ("identity", post(b"Content-Encoding: identity", b"Content-Length: 2", body=b"hi"), b"hi"),
    ("a coding of no body", get(b"Content-Encoding: gzip"), b"hello "),
    ("escapes stay", target(b"/target/%2e%2E"), b"GET /target/%2e%2E "),
    ("any method", target(b"/target", b"BREW"), b"BREW /target "),
    ("no Host in HTTP/1.0", b"GET /hello HTTP/1.0\r\n\r\n", b"hello "),
    ("length", post(b"Content-Length: 5", body=b"hello"), b"hello"),
    ("length with zeros", post(b"Content-Length: 0005", body=b"hello"), b"hello"),
    ("no length", post(), b""),
    ("chunks", CHUNKED + b"5\r\nhello\r\n6;a=b\r\n world\r\n0\r\n\r\n", b"hello world"),
    ("chunks in capitals", post(b"Transfer-Encoding: CHUNKED") + b"A\r\n0123456789\r\n0\r\n\r\n",
     b"0123456789"),
    ("trailers", CHUNKED + b"1\r\nx\r\n000\r\nA: b\r\nContent-Length: 7\r\n\r\n", b"x"),
    ("a body of GET", GET + HOST + b"Content-Length: 2\r\n\r\nhi", b"hello "),
]
