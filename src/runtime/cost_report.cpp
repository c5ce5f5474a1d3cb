#include "runtime/cost_report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "exchange/chooser.hpp"
#include "link/shm/shm_link.hpp"
#include "link/tcp/tcp_lane.hpp"
#include "runtime/settings.hpp"
#include "universe/settings.hpp"

namespace couplet::runtime {
namespace {

using OrderedJson = nlohmann::ordered_json;

// What a frame of any link takes; tests/universe/test_costs.py compares it with the limits that a program has.
constexpr std::uint64_t max_frame_bytes = link::ShmOptions{}.largest_payload;
static_assert(max_frame_bytes == link::TcpOptions{}.largest_payload);

OrderedJson choice(std::string what, OrderedJson value) {
  return {{"choice", std::move(what)}, {"value", std::move(value)}};
}

OrderedJson size_choice(std::string what, std::uint64_t bytes) {
  OrderedJson entry = choice(std::move(what), bytes);
  entry["unit"] = "bytes";
  return entry;
}

// Returns "COUPLET_EAGER_BYTES" if the variable is set, else "the setting eager_bytes".
std::string name_of_setting(std::string_view key) {
  std::string variable = universe::environment_name(key);
  return universe::environment(variable.c_str()).empty() ? fmt::format("the setting {}", key) : variable;
}

void report_eager_limit(const cost::MachineCosts& costs, const std::string& link, const ForcedChoices& forced,
                        OrderedJson& choices) {
  const auto measured = eager_limit(costs, link);
  if (!measured) return;
  const std::uint64_t limit = std::min(forced.eager_bytes.value_or(*measured), max_frame_bytes);
  const std::string forced_by = forced.eager_bytes ? name_of_setting("eager_bytes") : std::string();
  const auto add = [&](OrderedJson entry) {
    if (!forced_by.empty()) entry["forced_by"] = forced_by;
    choices.push_back(std::move(entry));
  };
  add(size_choice(fmt::format("eager limit of {}", link), limit));
  for (const std::uint64_t bytes : shown_bytes) {
    const bool is_eager = bytes <= limit;
    OrderedJson entry =
        choice(fmt::format("message of {} bytes over {}", bytes, link), is_eager ? "eager" : "announced");
    put_times(*find_link(costs, link, is_eager ? cost::LinkWay::eager : cost::LinkWay::announced), bytes, entry);
    add(std::move(entry));
  }
}

void report_pieces(const cost::MachineCosts& costs, const std::string& link, const ForcedChoices& forced,
                   OrderedJson& choices) {
  const auto measured = piece_size(costs, link);
  if (!measured) return;
  const std::uint64_t wanted = forced.piece_bytes.value_or(*measured);
  OrderedJson entry =
      size_choice(fmt::format("pieces of a {} MiB message over {}", cost::large_message_bytes >> 20U, link),
                  std::clamp<std::uint64_t>(wanted, 1, max_frame_bytes));
  if (forced.piece_bytes) entry["forced_by"] = name_of_setting("piece_bytes");
  const auto curve = std::find_if(costs.links.begin(), costs.links.end(), [&](const cost::LinkCurve& one) {
    return one.link == link && one.way == cost::LinkWay::pieces && one.piece_bytes == wanted;
  });
  if (curve != costs.links.end()) put_times(curve->times, cost::large_message_bytes, entry);
  choices.push_back(std::move(entry));
}

void report_links(const cost::MachineCosts& costs, const ForcedChoices& forced, OrderedJson& choices) {
  std::vector<std::string> links;
  for (const cost::LinkCurve& curve : costs.links) {
    if (std::find(links.begin(), links.end(), curve.link) == links.end()) links.push_back(curve.link);
  }
  for (const std::string& link : links) {
    report_eager_limit(costs, link, forced, choices);
    report_pieces(costs, link, forced, choices);
  }
}

void report_copies(const cost::MachineCosts& costs, const ForcedChoices& forced, OrderedJson& choices) {
  const auto measured = streaming_limit(costs);
  if (!measured) return;
  const std::uint64_t limit = forced.streaming_bytes.value_or(*measured);
  const std::string what = "copies stream if the target has more than";
  OrderedJson entry =
      limit == cost::any_bytes ? choice(what, "any number of bytes: they never stream") : size_choice(what, limit);
  if (forced.streaming_bytes) entry["forced_by"] = name_of_setting("streaming_bytes");
  choices.push_back(std::move(entry));
}

void report_collectives(const cost::MachineCosts& costs, OrderedJson& choices) {
  const auto pieces = method_pieces(costs);
  std::set<std::tuple<cost::Collective, std::int32_t, std::int32_t>> seen;
  for (const cost::CollectiveCurve& curve : costs.collectives) {
    if (!seen.emplace(curve.call, curve.systems, curve.members).second) continue;
    for (const std::uint64_t bytes : shown_bytes) {
      const cost::CollectiveShape shape{
          .kind = curve.call, .bytes = bytes, .size = curve.members, .systems = curve.systems};
      const cost::Method method = choose_method(shape, pieces);
      OrderedJson entry = choice(fmt::format("{} of {} bytes, {} members on {} hosts", name_of(curve.call), bytes,
                                             curve.members, curve.systems),
                                 name_of(method));
      if (const cost::Curve* const times = find_call(costs, shape, method)) put_times(*times, bytes, entry);
      choices.push_back(std::move(entry));
    }
  }
}

void report_exchanges(const cost::MachineCosts& costs, const ForcedChoices& forced, OrderedJson& choices) {
  if (costs.exchanges.empty()) return;
  if (!forced.exchange_method.empty()) {
    OrderedJson entry = choice("method of an exchange", forced.exchange_method);
    entry["forced_by"] = name_of_setting("exchange.method");
    choices.push_back(std::move(entry));
    return;
  }
  std::vector<std::string> methods;
  methods.reserve(costs.exchanges.size());
  for (const cost::ExchangeCurve& curve : costs.exchanges) methods.push_back(curve.method);
  for (const std::uint64_t bytes : shown_bytes) {
    const auto order = cost::trial_order(exchange_times_ns(costs, methods, bytes));
    OrderedJson names = OrderedJson::array();
    for (const std::size_t place : order) names.push_back(methods[place]);
    OrderedJson entry =
        choice(fmt::format("methods of an exchange, longest message {} bytes", bytes), std::move(names));
    put_times(costs.exchanges[order.front()].times, bytes, entry);
    choices.push_back(std::move(entry));
  }
}

}  // namespace

void put_times(const cost::Curve& curve, std::uint64_t bytes, OrderedJson& entry) {
  entry["predicted_us"] = curve.seconds(bytes) * 1e6;
  for (const cost::Point& point : curve.points) {
    if (point.bytes == bytes && point.measured_s > 0) entry["measured_us"] = point.measured_s * 1e6;
  }
}

Result<ForcedChoices> forced_choices(const std::function<std::string(std::string_view key)>& setting) {
  ForcedChoices forced;
  const auto take = [&setting](std::string_view key, std::optional<std::uint64_t>& bytes) -> Status {
    const std::string text = setting(key);
    if (text.empty()) return {};
    COUPLET_TRY_VALUE(bytes, number_of_bytes(text, key));
    return {};
  };
  COUPLET_TRY(take("eager_bytes", forced.eager_bytes));
  COUPLET_TRY(take("piece_bytes", forced.piece_bytes));
  COUPLET_TRY(take("streaming_bytes", forced.streaming_bytes));
  const std::string method = setting("exchange.method");
  if (method != exchange::automatic_method) forced.exchange_method = method;
  return forced;
}

OrderedJson report_costs(const KnownCosts& known, const ForcedChoices& forced) {
  OrderedJson report{{"from", known.path.empty() ? std::string(origin_of_library) : known.origin()},
                     {"why", known.why}};
  if (!known.warning.empty()) report["warning"] = known.warning;
  if (known.path.empty()) return report;
  OrderedJson choices = OrderedJson::array();
  report_links(known.costs, forced, choices);
  report_copies(known.costs, forced, choices);
  report_collectives(known.costs, choices);
  report_exchanges(known.costs, forced, choices);
  report["choices"] = std::move(choices);
  return report;
}

}  // namespace couplet::runtime
