#include "grammar/format_patterns.h"

namespace hearth {
namespace {

std::string group(const std::string& pattern) { return "(?:" + pattern + ")"; }

// Returns the pattern of a date whose day exists in its month, the 29th of February in leap years.
std::string date_pattern() {
  const std::string leap_year =
      "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)";
  const std::string month_and_day =
      "(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|"
      "02-(?:0[1-9]|1[0-9]|2[0-8]))";
  return group("[0-9]{4}-" + month_and_day + "|" + leap_year + "-02-29");
}

// Returns the pattern of a time. Second 60 is allowed only where it may exist: at the end of a day
// in UTC.
std::string time_pattern() {
  const std::string offset = "(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])";
  return group("(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]+)?" + offset +
               "|23:59:60(?:\\.[0-9]+)?(?:[Zz]|[+-]00:00)");
}

// Returns the pattern of a duration as in appendix A of RFC 3339.
std::string duration_pattern() {
  const std::string time = "T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S)";
  const std::string date = "(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)";
  return "P(?:[0-9]+W|" + date + "(?:" + time + ")?|" + time + ")";
}

std::string ipv4_pattern() {
  const std::string octet = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
  return octet + "(?:\\." + octet + "){3}";
}

// Returns the pattern of the nine forms in RFC 3986, section 3.2.2.
std::string ipv6_pattern() {
  const std::string piece = "[0-9A-Fa-f]{1,4}";
  const std::string last = "(?:" + piece + ":" + piece + "|" + ipv4_pattern() + ")";
  auto pieces = [&](int count) { return "(?:" + piece + ":){" + std::to_string(count) + "}"; };
  auto before = [&](int most) {
    return "(?:(?:" + piece + ":){0," + std::to_string(most) + "}" + piece + ")?::";
  };
  std::string all = pieces(6) + last + "|::" + pieces(5) + last;
  for (int most = 0; most < 5; ++most) all += "|" + before(most) + pieces(4 - most) + last;
  return group(all + "|" + before(5) + piece + "|" + before(6));
}

// Returns the pattern of a label of a host name, of at most `most` characters. Hyphens in both the
// third and the fourth place are left out: they mark labels to which other rules apply.
std::string host_label_pattern(int most) {
  return "(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,2}[A-Za-z0-9])?|"
         "[A-Za-z0-9][A-Za-z0-9-](?:[A-Za-z0-9][A-Za-z0-9-]|-[A-Za-z0-9])[A-Za-z0-9-]{0," +
         std::to_string(most - 5) + "}[A-Za-z0-9])";
}

std::string hostname_pattern(int labels, int most) {
  const std::string label = host_label_pattern(most);
  return label + "(?:\\." + label + "){0," + std::to_string(labels - 1) + "}";
}

std::string email_pattern() {
  const std::string atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
  const std::string quoted = "\"(?:[ !#-\\[\\]-~]|\\\\[ -~])*\"";
  return group(atom + "(?:\\." + atom + ")*|" + quoted) + "@" +
         group(hostname_pattern(3, 63) + "|\\[" + ipv4_pattern() + "\\]|\\[IPv6:" + ipv6_pattern() +
               "\\]");
}

constexpr std::string_view kPathCharacter = "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})";
constexpr std::string_view kUserOrName = "(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})";

std::string authority_pattern() {
  const std::string user = "(?:(?:" + std::string(kUserOrName) + "|:)*@)?";
  const std::string literal =
      "\\[(?:" + ipv6_pattern() + "|[vV][0-9A-Fa-f]+\\.[A-Za-z0-9._~!$&'()*+,;=:-]+)\\]";
  return user + "(?:" + literal + "|" + std::string(kUserOrName) + "*)(?::[0-9]*)?";
}

// Returns the pattern of a URI's query and fragment, which stand behind the path.
std::string uri_tail_pattern() {
  const std::string text = "(?:" + std::string(kPathCharacter) + "|[/?])*";
  return "(?:\\?" + text + ")?(?:#" + text + ")?";
}

std::string uri_pattern() {
  const std::string segment(kPathCharacter);
  const std::string path = "(?:/" + segment + "*)*";
  return "[A-Za-z][A-Za-z0-9+.-]*:" +
         group("//" + authority_pattern() + path + "|/(?:" + segment + "+" + path + ")?|" +
               segment + "+" + path + "|") +
         uri_tail_pattern();
}

std::string relative_uri_pattern() {
  const std::string segment(kPathCharacter);
  const std::string path = "(?:/" + segment + "*)*";
  const std::string first = "(?:[A-Za-z0-9._~!$&'()*+,;=@-]|%[0-9A-Fa-f]{2})+";
  return group("//" + authority_pattern() + path + "|/(?:" + segment + "+" + path + ")?|" + first +
               path + "|") +
         uri_tail_pattern();
}

// Returns the pattern of RFC 6570: literals, and expressions of an operator and variables.
std::string uri_template_pattern() {
  const std::string literal =
      "(?:[!#$&'()*+,./0-9:;=?@A-Z\\[\\]_a-z~-]|[^\\x00-\\x9f]|%[0-9A-Fa-f]{2})";
  const std::string character = "(?:[0-9A-Z_a-z]|%[0-9A-Fa-f]{2})";
  const std::string name = character + "(?:\\.?" + character + ")*";
  const std::string variable = name + "(?::[1-9][0-9]{0,3}|\\*)?";
  return "(?:" + literal + "|\\{[+#./;?&=,!@|]?" + variable + "(?:," + variable + ")*\\})*";
}

std::string pointer_pattern() { return "(?:/(?:[^~/]|~[01])*)*"; }

}  // namespace

std::optional<FormatPatterns> find_format(std::string_view name) {
  const std::string no_year = "0000-[^]*";  // the year 0000, which programs' calendars lack
  if (name == "date") return FormatPatterns{{date_pattern()}, {no_year}};
  if (name == "time") return FormatPatterns{{time_pattern()}};
  if (name == "date-time") {
    return FormatPatterns{{date_pattern() + "[Tt]" + time_pattern()}, {no_year}};
  }
  if (name == "duration") return FormatPatterns{{duration_pattern()}};
  if (name == "uuid") {
    return FormatPatterns{{"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"}};
  }
  if (name == "ipv4") return FormatPatterns{{ipv4_pattern()}};
  if (name == "ipv6") return FormatPatterns{{ipv6_pattern()}};
  if (name == "email") return FormatPatterns{{email_pattern()}};
  // Both patterns stay below the limit of 253 characters.
  if (name == "hostname") {
    return FormatPatterns{{hostname_pattern(3, 63), hostname_pattern(8, 30)}};
  }
  if (name == "uri") return FormatPatterns{{uri_pattern()}};
  if (name == "uri-reference") {
    return FormatPatterns{{uri_pattern(), relative_uri_pattern()}};
  }
  if (name == "uri-template") return FormatPatterns{{uri_template_pattern()}};
  if (name == "json-pointer") return FormatPatterns{{pointer_pattern()}};
  return std::nullopt;
}

}  // namespace hearth
