#include <fmt/format.h>

#include "report/chart_drawing.h"
#include "report/chart_style.h"

namespace hearth {
namespace {

constexpr const char* kSvgNamespace = "http://www.w3.org/2000/svg";
constexpr double kMargin = 40, kFactRow = 20, kTitleRow = 26, kSectionGap = 34;

const std::string& title_of(const Chart& chart) {
  return std::visit([](const auto& one) -> const std::string& { return one.title; }, chart);
}
const std::string& caption_of(const Chart& chart) {
  return std::visit([](const auto& one) -> const std::string& { return one.caption; }, chart);
}

size_t series_of(const Chart& chart) {
  const auto* bars = std::get_if<BarChart>(&chart);
  return bars ? bars->series.size() : 0;
}

// Writes a chart as an <svg> element, at `x`, `y` in the one around it, and returns its height.
double put_chart(Markup& out, const Chart& chart, const std::string& id, double x, double y) {
  const auto* bars = std::get_if<BarChart>(&chart);
  const Drawing drawing = bars ? draw_bars(*bars, id) : draw_lines(std::get<LineChart>(chart), id);
  out.begin("svg",
            {{"xmlns", kSvgNamespace},
             {"role", "img"},
             {"aria-labelledby", fmt::format("{0}-title {0}-told", id)},
             {"x", pixels(x)},
             {"y", pixels(y)},
             {"width", pixels(kChartWidth)},
             {"height", pixels(drawing.height)},
             {"overflow", "visible"},
             {"viewBox", fmt::format("0 0 {} {}", pixels(kChartWidth), pixels(drawing.height))}});
  out.with("title", {{"id", id + "-title"}}, title_of(chart));
  out.with("desc", {{"id", id + "-told"}}, chart_words(chart));
  define_patterns(out, id, series_of(chart));
  out.append(drawing.body).end();
  return drawing.height;
}

// Writes a text in lines that fit the width, and moves `y` below them.
void put_lines(Markup& out, const std::string& text, double* y) {
  for (const std::string& line : lines_within(text, kTextSize, kChartWidth)) {
    draw_text(out, "quiet", kMargin, *y, "start", line);
    *y += kFactRow;
  }
}

void put_table(Markup& out, const Chart& chart) {
  const ChartTable table = chart_table(chart);
  out.begin("details").with("summary", {}, "The numbers").begin("div", {{"class", "wide"}});
  out.begin("table").begin("thead").begin("tr");
  for (const std::string& cell : table.head) out.with("th", {{"scope", "col"}}, cell);
  out.end().end().begin("tbody");
  for (const auto& row : table.rows) {
    out.begin("tr").with("th", {{"scope", "row"}}, row[0]);
    for (size_t i = 1; i < row.size(); ++i) out.with("td", {}, row[i]);
    out.end();
  }
  out.end().end().end().end();
}

}  // namespace

std::string svg_text(const ChartPage& page) {
  Markup body;
  double y = kMargin + 16;
  draw_text(body, "ink page-title", kMargin, y, "start", text_within(page.title, 22, kChartWidth));
  y += 28;
  for (const std::string& fact : page.facts) put_lines(body, fact, &y);
  for (size_t i = 0; i < page.charts.size(); ++i) {
    y += kSectionGap;
    draw_text(body, "ink title", kMargin, y, "start", title_of(page.charts[i]));
    y += kTitleRow - 4;
    put_lines(body, caption_of(page.charts[i]), &y);
    y += put_chart(body, page.charts[i], fmt::format("chart{}", i + 1), kMargin, y);
  }
  y += kFactRow;
  for (const std::string& note : page.notes) put_lines(body, "Note: " + note, &y);
  const double width = kChartWidth + 2 * kMargin, height = y + kMargin - kFactRow;
  Markup out;
  out.begin("svg", {{"xmlns", kSvgNamespace},
                    {"width", pixels(width)},
                    {"height", pixels(height)},
                    {"viewBox", fmt::format("0 0 {} {}", pixels(width), pixels(height))},
                    {"role", "group"},
                    {"aria-labelledby", "page-title"}});
  out.with("title", {{"id", "page-title"}}, page.title).style(chart_rules());
  out.leaf("rect", {{"class", "ground"}, {"width", "100%"}, {"height", "100%"}});
  return out.append(body).end().made();
}

std::string html_text(const ChartPage& page) {
  Markup out;
  out.begin("html", {{"lang", "en"}}).begin("head").leaf("meta", {{"charset", "utf-8"}});
  out.leaf("meta", {{"http-equiv", "Content-Security-Policy"},
                    {"content", "default-src 'none'; style-src 'unsafe-inline'"}});
  out.leaf("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
  out.with("title", {}, page.title).style(page_rules() + chart_rules());
  out.end().begin("body").with("h1", {}, page.title);
  for (const std::string& fact : page.facts) out.with("p", {{"class", "facts"}}, fact);
  for (size_t i = 0; i < page.charts.size(); ++i) {
    const Chart& chart = page.charts[i];
    out.begin("section").with("h2", {}, title_of(chart));
    out.with("p", {{"class", "told"}}, caption_of(chart));
    put_chart(out, chart, fmt::format("chart{}", i + 1), 0, 0);
    put_table(out, chart);
    out.end();
  }
  if (!page.notes.empty()) {
    out.begin("section").with("h2", {}, "Notes").begin("ul");
    for (const std::string& note : page.notes) out.with("li", {}, note);
    out.end().end();
  }
  return "<!DOCTYPE html>\n" + out.end().end().made();
}

}  // namespace hearth
