#include "report/chart_style.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace hearth {
namespace {

struct SeriesStyle {
  const char *light, *dark;  // each has a contrast of at least 3 to 1
  const char* overlay;       // path in a tile of 8 by 8 pixels
  const char* dash;
  const char* marker;  // path around 0, 0
};

// Lightness alternates from style to style, so that styles also differ in grey.
constexpr std::array<SeriesStyle, kMaxSeries> kStyles = {{
    {"#a8431a", "#f2976b", "", "", "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z"},
    {"#1f5f9e", "#7db8f0", "M-2 2L2 -2M0 8L8 0M6 10L10 6", "7 4", "M-4 -4H4V4H-4Z"},
    {"#3f7a3a", "#8fd08a", "M0 2H8M0 6H8", "2 3", "M0 -5L5 4H-5Z"},
    {"#7d3f98", "#d3a4ea", "M2 2h2v2h-2ZM6 6h2v2h-2Z", "10 3 2 3", "M0 -5L5 0L0 5L-5 0Z"},
    {"#7a6200", "#dcc25a", "M-2 6L2 10M0 0L8 8M6 -2L10 2", "14 4", "M0 5L5 -4H-5Z"},
    {"#1d7480", "#76ccd6", "M2 0V8M6 0V8", "4 2 1 2 1 2", "M-5 0H5M0 -5V5"},
    {"#a32f64", "#f095bd", "M0 0L8 8M8 0L0 8", "1 3", "M-4 -4L4 4M4 -4L-4 4"},
    {"#5c5f66", "#b9bcc4", "M0 4H8M4 0V8", "20 3 3 3", "M-4 -4H4V4H-4ZM-4 -4L4 4"},
}};

constexpr std::string_view kLightRules =
    ".ground{fill:#fffdfa}.ink{fill:#2a2521}.quiet{fill:#685d52}.grid{stroke:#e7dfd4}"
    ".axis{stroke:#8d7f70}.mark{stroke:#2a2521}.range{stroke:#2a2521}"
    ".halo{stroke:#fffdfa}.over{stroke:#fffdfa}";
constexpr std::string_view kDarkRules =
    ".ground{fill:#171412}.ink{fill:#ece5dc}.quiet{fill:#b0a498}.grid{stroke:#3b342e}"
    ".axis{stroke:#8c7f73}.mark{stroke:#ece5dc}.range{stroke:#ece5dc}"
    ".halo{stroke:#171412}.over{stroke:#171412}";

std::string series_rules(bool dark) {
  std::string rules;
  for (size_t i = 0; i < kStyles.size(); ++i) {
    const char* colour = dark ? kStyles[i].dark : kStyles[i].light;
    rules += fmt::format(".f{0}{{fill:{1}}}.l{0}{{stroke:{1}}}", i, colour);
  }
  return rules;
}

// The legend's keys stand side by side, as many as fit into a row.
constexpr double kKeyWidth = 34, kKeyGap = 24, kKeyRow = 20;

}  // namespace

std::string chart_rules() {
  std::string rules =
      "text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',"
      "sans-serif;font-size:13px;font-variant-numeric:tabular-nums}"
      ".title{font-size:17px;font-weight:600}.page-title{font-size:22px;font-weight:650}"
      ".small{font-size:12px}.strong{font-weight:600}"
      ".grid,.axis{stroke-width:1}.mark{stroke-width:1.5;stroke-dasharray:5 4}"
      ".range{stroke-width:1.5}.bar{stroke-width:1}.line{fill:none;stroke-width:2.25;stroke-"
      "linejoin:round}"
      ".point{stroke-width:1.75}.over{stroke-width:1.5;fill:none}"
      ".halo{stroke-width:4;stroke-linejoin:round;paint-order:stroke}";
  rules += fmt::format("{}{}", kLightRules, series_rules(false));
  rules +=
      fmt::format("@media (prefers-color-scheme:dark){{{}{}}}", kDarkRules, series_rules(true));
  return rules;
}

std::string page_rules() {
  return ":root{color-scheme:light dark}"
         "body{margin:0 auto;padding:2rem 1.25rem 4rem;max-width:56rem;background:#fffdfa;"
         "color:#2a2521;font:15px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',"
         "'DejaVu Sans',sans-serif;overflow-wrap:anywhere}"
         "h1{margin:0 0 .75rem;font-size:1.6rem;line-height:1.25}"
         "h2{margin:0 0 .2rem;font-size:1.15rem}"
         "p,li{margin:.15rem 0}.facts,.told{color:#685d52}"
         "section{margin:2.5rem 0 0;padding:1.5rem 0 0;border-top:1px solid #e7dfd4}"
         "svg{display:block;width:100%;height:auto;margin:.75rem 0}"
         "details{font-size:.9rem}summary{cursor:pointer;color:#685d52}"
         ".wide{overflow-x:auto}"
         "table{border-collapse:collapse;margin:.75rem 0;font-variant-numeric:tabular-nums}"
         "th,td{padding:.3rem .9rem;border-bottom:1px solid #e7dfd4;text-align:right;"
         "overflow-wrap:normal}"
         "th:first-child,td:first-child{padding-left:0;text-align:left}"
         "@media (prefers-color-scheme:dark){"
         "body{background:#171412;color:#ece5dc}.facts,.told,summary{color:#b0a498}"
         "section,th,td{border-color:#3b342e}}"
         "@media print{details{display:none}section{break-inside:avoid}}";
}

void define_patterns(Markup& out, const std::string& chart, size_t series) {
  out.begin("defs");
  for (size_t i = 0; i < std::min(series, kStyles.size()); ++i) {
    out.begin("pattern", {{"id", fmt::format("{}-pattern-{}", chart, i)},
                          {"width", "8"},
                          {"height", "8"},
                          {"patternUnits", "userSpaceOnUse"}});
    out.leaf("rect", {{"class", fmt::format("f{}", i)}, {"width", "8"}, {"height", "8"}});
    if (*kStyles[i].overlay != '\0') {
      out.leaf("path", {{"class", "over"}, {"d", kStyles[i].overlay}});
    }
    out.end();
  }
  out.end();
}

std::string pattern_fill(const std::string& chart, size_t series) {
  return fmt::format("url(#{}-pattern-{})", chart, series % kStyles.size());
}

std::string_view dashes(uint32_t dash) { return kStyles[dash % kStyles.size()].dash; }

void draw_marker(Markup& out, uint32_t colour, double x, double y) {
  const size_t style = colour % kStyles.size();
  out.leaf("path", {{"class", fmt::format("point f{0} l{0}", style)},
                    {"transform", fmt::format("translate({} {})", pixels(x), pixels(y))},
                    {"d", kStyles[style].marker}});
}

void draw_text(Markup& out, std::string_view kind, double x, double y, std::string_view anchor,
               std::string_view text) {
  out.with("text",
           {{"class", std::string(kind)},
            {"x", pixels(x)},
            {"y", pixels(y)},
            {"text-anchor", std::string(anchor)}},
           text);
}

void draw_line(Markup& out, std::string_view kind, double x1, double y1, double x2, double y2) {
  out.leaf("line", {{"class", std::string(kind)},
                    {"x1", pixels(x1)},
                    {"y1", pixels(y1)},
                    {"x2", pixels(x2)},
                    {"y2", pixels(y2)}});
}

void draw_upright_mark(Markup& out, const std::string& label, double x, double y, double bottom) {
  draw_line(out, "mark", x, y + 4, x, bottom);
  const double half = text_width(label, kSmallSize) / 2;
  draw_text(out, "ink small strong halo", std::clamp(x, half, kChartWidth - half), y, "middle",
            label);
}

double draw_legend(Markup& out, const std::string& chart, const std::vector<LegendKey>& keys,
                   double top) {
  double x = 0, y = top;
  for (const LegendKey& key : keys) {
    const std::string name = text_within(key.name, kTextSize, kChartWidth - kKeyWidth);
    const double width = kKeyWidth + text_width(name, kTextSize) + kKeyGap;
    if (x > 0 && x + width > kChartWidth) {
      x = 0;
      y += kKeyRow;
    }
    if (key.is_bar) {
      out.leaf("rect", {{"x", pixels(x)},
                        {"y", pixels(y + 2)},
                        {"width", "24"},
                        {"height", "13"},
                        {"rx", "2"},
                        {"fill", pattern_fill(chart, key.colour)}});
    } else {
      out.leaf("path", {{"class", fmt::format("line l{}", key.colour)},
                        {"stroke-dasharray", std::string(dashes(key.dash))},
                        {"d", fmt::format("M{} {}h26", pixels(x), pixels(y + 8.5))}});
      if (key.has_marker) draw_marker(out, key.colour, x + 13, y + 8.5);
    }
    draw_text(out, "ink", x + kKeyWidth, y + 13, "start", name);
    x += width;
  }
  return keys.empty() ? top : y + kKeyRow + 6;
}

}  // namespace hearth
