#include "runtime/cost_report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

namespace couplet::runtime {
namespace {

using Json = nlohmann::ordered_json;

Json choice(std::string what, Json value) {
  return {{"choice", std::move(what)}, {"value", std::move(value)}};
}

void report_links(const cost::MachineCosts& costs, Json& choices) {
  std::vector<std::string> links;
  for (const cost::LinkCurve& curve : costs.links) {
    if (std::find(links.begin(), links.end(), curve.link) == links.end()) links.push_back(curve.link);
  }
  for (const std::string& link : links) {
    if (const auto limit = eager_limit(costs, link)) {
      choices.push_back(choice(fmt::format("eager limit of {}", link),
                               *limit == cost::any_bytes ? Json("what a frame takes") : Json(*limit)));
      for (const std::uint64_t bytes : shown_bytes) {
        const bool is_eager = bytes <= *limit;
        Json entry = choice(fmt::format("message of {} bytes over {}", bytes, link), is_eager ? "eager" : "announced");
        put_times(*find_link(costs, link, is_eager ? cost::LinkWay::eager : cost::LinkWay::announced), bytes, entry);
        choices.push_back(std::move(entry));
      }
    }
    if (const auto piece = piece_size(costs, link)) {
      Json entry = choice(fmt::format("pieces of a large message over {}", link), *piece);
      const auto curve = std::find_if(costs.links.begin(), costs.links.end(), [&](const cost::LinkCurve& one) {
        return one.link == link && one.way == cost::LinkWay::pieces && one.piece_bytes == *piece;
      });
      put_times(curve->times, cost::large_message_bytes, entry);
      choices.push_back(std::move(entry));
    }
  }
}

void report_collectives(const cost::MachineCosts& costs, Json& choices) {
  const auto pieces = method_pieces(costs);
  std::set<std::tuple<cost::Collective, std::int32_t, std::int32_t>> seen;
  for (const cost::CollectiveCurve& curve : costs.collectives) {
    if (!seen.emplace(curve.call, curve.systems, curve.members).second) continue;
    for (const std::uint64_t bytes : shown_bytes) {
      const cost::CollectiveShape shape{
          .kind = curve.call, .bytes = bytes, .size = curve.members, .systems = curve.systems};
      const cost::Method method = choose_method(shape, pieces);
      Json entry = choice(fmt::format("{} of {} bytes, {} members on {} hosts", name_of(curve.call), bytes,
                                      curve.members, curve.systems),
                          name_of(method));
      if (const cost::Curve* const times = find_call(costs, shape, method)) put_times(*times, bytes, entry);
      choices.push_back(std::move(entry));
    }
  }
}

void report_exchanges(const cost::MachineCosts& costs, Json& choices) {
  if (costs.exchanges.empty()) return;
  std::vector<std::string> methods;
  methods.reserve(costs.exchanges.size());
  for (const cost::ExchangeCurve& curve : costs.exchanges) methods.push_back(curve.method);
  for (const std::uint64_t bytes : shown_bytes) {
    const auto order = cost::trial_order(exchange_times_ns(costs, methods, bytes));
    Json names = Json::array();
    for (const std::size_t place : order) names.push_back(methods[place]);
    Json entry = choice(fmt::format("methods of an exchange, longest message {} bytes", bytes), std::move(names));
    put_times(costs.exchanges[order.front()].times, bytes, entry);
    choices.push_back(std::move(entry));
  }
}

}  // namespace

void put_times(const cost::Curve& curve, std::uint64_t bytes, Json& entry) {
  entry["predicted_us"] = curve.seconds(bytes) * 1e6;
  for (const cost::Point& point : curve.points) {
    if (point.bytes == bytes && point.measured_s > 0) entry["measured_us"] = point.measured_s * 1e6;
  }
}

Json report_costs(const KnownCosts& known) {
  Json report{{"from", known.path.empty() ? std::string(origin_of_library) : known.origin()}, {"why", known.why}};
  if (!known.warning.empty()) report["warning"] = known.warning;
  if (known.path.empty()) return report;
  Json choices = Json::array();
  report_links(known.costs, choices);
  if (const auto limit = streaming_limit(known.costs)) {
    choices.push_back(choice("copies stream if the target has more bytes than",
                             *limit == cost::any_bytes ? Json("any") : Json(*limit)));
  }
  report_collectives(known.costs, choices);
  report_exchanges(known.costs, choices);
  report["choices"] = std::move(choices);
  return report;
}

}  // namespace couplet::runtime
