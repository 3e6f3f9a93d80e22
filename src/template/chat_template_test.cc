// Tests that tests/templates cannot do by comparing with Jinja: limits, errors with their lines,
// origins of text.
#include "template/chat_template.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <new>
#include <string>

#include "base/error.h"

namespace hearth {
namespace {

RenderedChat render(const std::string& source, const std::string& request = "{}") {
  boost::json::object own = {{"bos_token", "<s>"}};
  return ChatTemplate(source).render(boost::json::parse(request).as_object(), own);
}

// Returns the rendered text with the request's parts in square brackets.
std::string marked(const std::string& source, const std::string& request = "{}") {
  RenderedChat chat = render(source, request);
  std::string text;
  size_t done = 0;
  for (auto [begin, end] : chat.untrusted) {
    text += chat.text.substr(done, begin - done) + "[" + chat.text.substr(begin, end - begin) + "]";
    done = end;
  }
  return text + chat.text.substr(done);
}

std::string error_of(const std::string& source, const std::string& request = "{}") {
  try {
    return "no error, but: " + render(source, request).text.substr(0, 100);
  } catch (const Error& error) {
    return error.what();
  }
}

ErrorCode code_of(const std::string& source) {
  try {
    render(source);
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::kUsage;
}

TEST(ChatTemplate, KnowsWhatCameFromTheRequest) {
  const char* request = R"({"a": "xYz", "n": 7, "l": ["p", "q"], "d": {"k": "v\""}})";
  EXPECT_EQ(marked("{{ bos_token }}<{{ a }}>", request), "<s><[xYz]>");
  EXPECT_EQ(marked("{{ '<' + a + '>' }}{{ '<' ~ n ~ '>' }}", request), "<[xYz]><[7]>");
  EXPECT_EQ(marked("{{ a[1:] ~ a[::-1] ~ a[0] }}-", request), "[YzzYxx]-");
  EXPECT_EQ(marked("{{ a|upper }} {{ a.lower() }} {{ a|capitalize }}", request),
            "[XYZ] [xyz] [Xyz]");
  EXPECT_EQ(marked("{{ l|join(', ') }} {{ ', '.join(l) }}", request), "[p], [q] [p], [q]");
  EXPECT_EQ(marked("{{ 'a-b'|replace('-', a) }} {{ a|replace('Y', '|') }}", request),
            "a[xYz]b [x]|[z]");
  EXPECT_EQ(marked("{{ d|tojson }}", request), "{\"[k]\": \"[v\\\"]\"}");
  EXPECT_EQ(marked("{{ d }} {{ n + 1 }}", request), "{'[k]': '[v\"]'} [8]");
  EXPECT_EQ(marked("{{ '%s|%d' % (a, n) }}", request), "[xYz]|[7]");
  EXPECT_EQ(marked("{{ ('  ' ~ a ~ ' ')|trim }}{% set b %}({{ a }}){% endset %}{{ b }}", request),
            "[xYz]([xYz])");
  EXPECT_EQ(marked("{{ a|indent(2, true) }}{{ a.split('Y')|last }}", request), "  [xYzz]");
  EXPECT_EQ(marked("{{ a if a == 'xYz' else 'own' }}{{ 'own' if a }}", request), "[xYz]own");
  EXPECT_EQ(marked("{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(a) }}{{ a|length }}", request),
            "<[xYz]>3");
}

TEST(ChatTemplate, KnowsRolesThatEveryoneKnows) {
  const char* request = R"({"messages": [{"role": "user"}, {"role": "us|>er"}], "role": "user"})";
  EXPECT_EQ(marked("{% for m in messages %}<|{{ m.role }}|>{% endfor %}{{ role }}", request),
            "<|user|><|[us|>er]|>[user]");
}

TEST(ChatTemplate, TheProgramsVariablesWin) {
  EXPECT_EQ(marked("{{ bos_token }}", R"({"bos_token": "forged"})"), "<s>");
}

TEST(ChatTemplate, ErrorsGiveTheLine) {
  EXPECT_EQ(error_of("a\n{{ x.y }}"), "the chat template, line 2: 'x' is undefined");
  EXPECT_EQ(error_of("{{ 1 +\n\n 'a' }}"),
            "the chat template, line 1: '+' does not work between int and str");
  EXPECT_EQ(error_of("\n{{ raise_exception('no ' ~ 1) }}"),
            "the chat template, line 2: it refuses this conversation: no 1");
  EXPECT_EQ(error_of("{% if x %}\n{% include 'a' %}"),
            "the chat template, line 2: the statement 'include' is not supported");
  EXPECT_EQ(error_of("\n\n{{ x|xmlattr }}"),
            "the chat template, line 3: the filter 'xmlattr' is not supported");
  EXPECT_EQ(error_of("{% if x %}"), "the chat template, line 1: the tag 'endif' is missing");
  EXPECT_EQ(code_of("{{ x|xmlattr }}"), ErrorCode::kUnsupported);
  EXPECT_EQ(code_of("{{ x"), ErrorCode::kFile);
  EXPECT_EQ(code_of("{{ x.y }}"), ErrorCode::kRequest);
  EXPECT_EQ(code_of("\xff"), ErrorCode::kFile);
}

// Published templates use a filter under the condition that it exists. Jinja then reports an
// unknown filter only when it is reached.
TEST(ChatTemplate, UnknownFiltersAndTestsAreErrorsWhereTheyAreReached) {
  EXPECT_EQ(render("{% if x is defined %}{{ x|nope(1) }}{% endif %}ok").text, "ok");
  EXPECT_EQ(render("{% if x is defined and x is nope %}{% endif %}ok").text, "ok");
  EXPECT_EQ(render("{{ (1|nope) if false else 'ok' }}").text, "ok");
  EXPECT_EQ(render("{% macro m() %}{% filter nope %}{% endfilter %}{% endmacro %}ok").text, "ok");
  EXPECT_EQ(error_of("\n{% if not x %}{{ 1|nope }}{% endif %}"),
            "the chat template, line 2: the filter 'nope' is not supported");
  EXPECT_EQ(error_of("\n{{ 1 is not nope }}"),
            "the chat template, line 2: the test 'nope' is not supported");
  EXPECT_EQ(code_of("{{ 1 is nope }}"), ErrorCode::kUnsupported);
  EXPECT_EQ(code_of("{{ [1]|map('nope')|list }}"), ErrorCode::kUnsupported);
}

TEST(ChatTemplate, FromJsonReadsWhatToJsonWrites) {
  const char* request = R"({"a": "{\"k\": [1, 2.5, \"v<|x|>\", null, true]}"})";
  EXPECT_EQ(marked("{{ (a|from_json).k[2] }}{{ (a|from_json)['k']|length }}", request),
            "[v<|x|>]5");
  EXPECT_EQ(marked("{{ a|from_json|tojson }}", request),
            R"({"[k]": [[1], [2.5], "[v<|x|>]", [null], [true]]})");
  EXPECT_EQ(marked("{{ ('[1, \"x\"]'|from_json)[1] }}"), "x") << "the template's own";
  EXPECT_EQ(error_of("{{ '{'|from_json }}"),
            "the chat template, line 1: from_json was given a text that is not JSON");
  EXPECT_NE(error_of("{{ 1|from_json }}").find("must be a string"), std::string::npos);
  EXPECT_NE(error_of("{{ ('[' * 200)|from_json }}").find("not JSON"), std::string::npos);
  EXPECT_NE(error_of("{{ (' ' * 4194305)|from_json }}").find("4 MiB"), std::string::npos);
}

TEST(ChatTemplate, LongExceptionsAreCut) {
  std::string error = error_of("{{ raise_exception('\xC3\xA9' * 5000) }}");
  EXPECT_LT(error.size(), 600u);
  EXPECT_TRUE(error.ends_with("\xC3\xA9"));
}

TEST(ChatTemplate, StepsAreLimited) {
  const char* loop = "{% for i in range(1000) %}{% for j in range(1000) %}{% endfor %}{% endfor %}";
  EXPECT_NE(error_of(loop).find("more than 1000000 steps"), std::string::npos);
  EXPECT_NE(error_of("{% for i in range(100001) %}{% endfor %}").find("100000"), std::string::npos);
}

// A search spends steps in proportion to the lengths of both strings, so that no conversation can
// make it long. Its time grows with the sum of the lengths, not with their product.
TEST(ChatTemplate, SearchesAreCounted) {
  std::string needle(size_t{1} << 20, 'a');
  std::string request = R"({"n": ")" + needle + R"("})";
  const char* searches[] = {"n in 'x'",     "'x'.find(n)",         "'x'.count(n)",
                            "'x'.split(n)", "'x'.replace(n, '')",  "'x'|replace(n, '')",
                            "'x' is in(n)", "'x'.removeprefix(n)", "'x'.startswith(n)"};
  for (const std::string search : searches) {
    std::string loop = "{% for i in range(20000) %}{% set y = " + search + " %}{% endfor %}";
    EXPECT_NE(error_of(loop, request).find("more than 1000000 steps"), std::string::npos) << search;
  }
}

TEST(ChatTemplate, SearchesOfLongTextsEnd) {
  const char* source =
      "{% set half = 'a' * 2000000 %}{% set text = half ~ half %}"
      "{% set needle = half[:1000000] ~ 'b' ~ half[:1000000] %}"
      "{{ needle in text }} {{ text.find(needle) }} {{ text.count(needle) }} "
      "{{ text.split(needle)|length }} {{ text.replace(needle, '')|length }} "
      "{{ (text ~ needle).find(needle) }} {{ text.count(half) }} {{ text.split(half)|length }}";
  EXPECT_EQ(render(source).text, "False -1 0 1 4000000 4000000 2 3");
}

TEST(ChatTemplate, ALongRenderingPausesAndMayBeEnded) {
  const ChatTemplate loops(
      "{% for i in range(100) %}{% for j in range(1000) %}{% endfor %}{% endfor %}done");
  size_t pauses = 0;
  Pace count([&] { ++pauses; });
  EXPECT_EQ(loops.render({}, {}, &count).text, "done");
  EXPECT_GT(pauses, 5u);
  Pace end([] { throw std::bad_alloc(); });
  EXPECT_THROW(loops.render({}, {}, &end), std::bad_alloc);
}

TEST(ChatTemplate, NamesAreLimited) {
  EXPECT_EQ(render("{{ " + std::string(1000, 'n') + " }}").text, "");
  EXPECT_NE(error_of("{{ " + std::string(1001, 'n') + " }}").find("longer than 1000 bytes"),
            std::string::npos);
}

TEST(ChatTemplate, OutputAndMemoryAreLimited) {
  EXPECT_EQ(render("{{ 'x' * 4194304 }}").text.size(), 4194304u);
  EXPECT_NE(error_of("{{ 'x' * 4194305 }}").find("4 MiB"), std::string::npos);
  EXPECT_NE(error_of("{{ 'x' * 1000000000000 }}").find("longer than"), std::string::npos);
  EXPECT_NE(error_of("{{ [1] * 1000000000000 }}").find("more than 4000000 values"),
            std::string::npos);
  const char* doubling =
      "{% set ns = namespace(a='x') %}{% for i in range(60) %}"
      "{% set ns.a = ns.a ~ ns.a %}{% endfor %}";
  EXPECT_NE(error_of(doubling).find("longer than 16 MiB"), std::string::npos);
  const char* keeping =
      "{% set a = 'x' * 9000000 %}{% set ns = namespace(l=[]) %}"
      "{% for i in range(60) %}{% set ns.l = ns.l + [a ~ i] %}{% endfor %}";
  EXPECT_NE(error_of(keeping).find("MiB of memory"), std::string::npos);
  EXPECT_NE(error_of("{{ 'a'|indent(100000000) }}").find("longer"), std::string::npos);
  EXPECT_NE(error_of("{{ 9223372036854775807 + 1 }}").find("64 bits"), std::string::npos);
}

TEST(ChatTemplate, DepthIsLimited) {
  std::string deep(65, '(');
  EXPECT_NE(error_of("{{ " + deep + "1" + std::string(65, ')') + " }}").find("deeper than 64"),
            std::string::npos);
  std::string loops;
  for (int i = 0; i < 65; ++i) loops += "{% if 1 %}";
  EXPECT_NE(error_of(loops).find("deeper than 64"), std::string::npos);
  EXPECT_NE(error_of("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}").find("deeper than 64"),
            std::string::npos);
  std::string dots = "{{ x";
  for (int i = 0; i < 100; ++i) dots += ".a";
  EXPECT_NE(error_of(dots + " }}").find("in a row"), std::string::npos);
  const char* nested =
      "{% set ns = namespace(a=[]) %}{% for i in range(200) %}"
      "{% set ns.a = [ns.a] %}{% endfor %}{{ ns.a }}";
  EXPECT_NE(error_of(nested).find("nested deeper"), std::string::npos);
}

TEST(ChatTemplate, AListMayHoldItself) {
  EXPECT_EQ(render("{% set l = [1] %}{% set _ = l.append(2) %}{{ l }}{{ l.pop() }}").text,
            "[1, 2]2");
  EXPECT_NE(error_of("{% set l = [] %}{% set _ = l.append(l) %}{{ l }}").find("nested deeper"),
            std::string::npos);
  EXPECT_EQ(render("{% set n = namespace() %}{% set n.n = n %}{{ n.n.n is defined }}").text,
            "True");
}

TEST(ChatTemplate, MacrosKeepTheScopeTheyWereMadeIn) {
  const char* source =
      "{% set ns = namespace() %}{% for i in [1, 2] %}{% macro m() %}{{ i }}"
      "{% endmacro %}{% set ns.m = m %}{% endfor %}{{ ns.m() }}";
  EXPECT_EQ(render(source).text, "2");
}

}  // namespace
}  // namespace hearth
