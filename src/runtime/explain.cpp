#include <nlohmann/json.hpp>

#include "os/host.hpp"
#include "runtime/cost_report.hpp"
#include "runtime/universe.hpp"

namespace couplet::runtime {
namespace {

using OrderedJson = nlohmann::ordered_json;

// The time that a message of each size takes, by the way that its size leads to.
void put_predictions(const KnownCosts& known, const message::PeerReport& flow, OrderedJson& peer) {
  OrderedJson sizes = OrderedJson::object();
  for (const std::uint64_t bytes : shown_bytes) {
    const auto way = bytes <= flow.eager_bytes ? cost::LinkWay::eager : cost::LinkWay::announced;
    const cost::Curve* const curve = cost::find_link(known.costs, flow.link, way);
    if (curve == nullptr) continue;
    OrderedJson entry{{"way", way == cost::LinkWay::eager ? "eager" : "announced"}};
    put_times(*curve, bytes, entry);
    sizes[std::to_string(bytes)] = std::move(entry);
  }
  if (!sizes.empty()) peer["messages"] = std::move(sizes);
}

std::string origin_of_limit(const std::string& setting, std::string_view name, bool is_measured,
                            const KnownCosts& known) {
  if (!setting.empty()) return fmt::format("the setting {}", name);
  return is_measured ? known.origin() : std::string("the link");
}

// A setting that is not a number is an error of the call that needs it.
ForcedChoices forced_here(const universe::Membership& membership) {
  auto forced = forced_choices([&membership](std::string_view key) { return membership.setting(key); });
  return forced.ok() ? *std::move(forced) : ForcedChoices();
}

OrderedJson report_methods(const KnownCosts& known, const collective::GroupTable& group) {
  const collective::Meeting& meeting = *group.meeting;
  OrderedJson calls = OrderedJson::object();
  for (auto kind = static_cast<std::uint8_t>(cost::Collective::barrier);
       kind <= static_cast<std::uint8_t>(cost::Collective::scan); ++kind) {
    cost::CollectiveShape shape{.kind = static_cast<cost::Collective>(kind),
                                .size = group.size,
                                .systems = static_cast<std::int32_t>(meeting.systems().members.size()),
                                .systems_in_order = meeting.systems().in_order,
                                .uneven = static_cast<cost::Collective>(kind) == cost::Collective::reduce_scatter};
    OrderedJson sizes = OrderedJson::object();
    for (const std::uint64_t bytes : shown_bytes) {
      shape.bytes = bytes;
      const cost::Method method = cost::choose_method(shape, meeting.table().pieces);
      OrderedJson choice{{"method", cost::name_of(method)}};
      const cost::Curve* const curve = cost::find_call(known.costs, shape, method);
      if (curve != nullptr) put_times(*curve, bytes, choice);
      sizes[std::to_string(bytes)] = std::move(choice);
    }
    calls[std::string(cost::name_of(shape.kind))] = std::move(sizes);
  }
  const std::string& origin = meeting.table().origin;
  return {
      {"group", group.group},
      {"members", group.size},
      {"table", origin.empty() ? std::string(origin_of_library) : fmt::format("{}, of rank 0 of the group", origin)},
      {"methods", std::move(calls)}};
}

}  // namespace

std::string Universe::explain(const collective::Collectives* calls) const {
  const KnownCosts& costs = environment_->costs();
  OrderedJson report;
  report["version"] = {{"major", COUPLET_VERSION_MAJOR}, {"minor", COUPLET_VERSION_MINOR}};
  report["program"] = member_->programs()[static_cast<std::size_t>(member_->program())].name;
  report["rank"] = member_->rank();
  report["node"] = {{"name", std::string(member_->node_name(member_->node()))},
                    {"directory", member_->node_directory()},
                    {"usable_cores", os::usable_cores()}};
  report["tcp_protection"] = channel::protection_name(member_->security().protection);
  const auto* const crowd = engine_->crowd();
  const char* const why = crowd == nullptr   ? "the setting spin_us"
                          : crowd->crowded() ? "more processes run than there are cores"
                                             : "a core for each process that runs";
  report["costs"] = report_costs(costs, forced_here(*member_));
  report["waiting"] = {{"spin_us", static_cast<double>(engine_->spin_ns()) / 1e3},
                       {"yield_us", static_cast<double>(patience_.yield_ns) / 1e3},
                       {"why", why}};
  const std::string relay = member_->setting("relay");
  report["series_of_other_nodes"] = {
      {"relay", relay.empty() ? "auto" : relay},
      {"why", relay.empty() ? "the default: a writer starts the relay of its node" : "the setting relay"}};
  if (const std::string bytes = environment_->setting("streaming_bytes"); !bytes.empty()) {
    report["streaming_copies"] = {
        {"above_bytes", bytes},
        {"why", origin_of_limit(member_->setting("streaming_bytes"), "streaming_bytes", true, costs)}};
  }
  if (window_) {
    report["mpi_window"] = {
        {"library", window_->library()}, {"ranks", window_->size()}, {"memory", window_->sharing()}};
    const std::string choices = window_->choices();
    report["mpi_window"]["calls"] = choices.empty() ? "none was measured" : choices;
  }
  OrderedJson peers = OrderedJson::array();
  const auto flows = messenger_->report();
  for (const auto& contact : connections_->report()) {
    OrderedJson peer{{"rank", contact.peer}, {"name", contact.name}, {"link", contact.link}, {"why", contact.why}};
    if (!contact.not_taken.empty()) {
      peer["not_taken"] = contact.not_taken;
    }
    for (const auto& lane : contact.lanes.lanes) {
      peer["lanes"].push_back({{"link", lane.link}, {"carries", lane.carries}});
    }
    if (!contact.lanes.missing.empty()) {
      peer["lanes_missing"] = contact.lanes.missing;
    }
    for (const auto& flow : flows) {
      if (flow.peer == contact.peer) {
        peer["eager_bytes"] = flow.eager_bytes;
        peer["eager_bytes_from"] = origin_of_limit(member_->setting("eager_bytes"), "eager_bytes",
                                                   cost::eager_limit(costs.costs, flow.link).has_value(), costs);
        peer["piece_bytes"] = flow.piece_bytes;
        peer["piece_bytes_from"] = origin_of_limit(member_->setting("piece_bytes"), "piece_bytes",
                                                   cost::piece_size(costs.costs, flow.link).has_value(), costs);
        put_predictions(costs, flow, peer);
        peer["large_messages"] = flow.large_messages;
        peer["large_messages_why"] = flow.why;
        peer["lost"] = flow.lost;
      }
    }
    peers.push_back(std::move(peer));
  }
  report["peers"] = std::move(peers);
  if (calls != nullptr) {
    OrderedJson groups = OrderedJson::array();
    for (const collective::GroupTable& group : tables_of(*calls)) groups.push_back(report_methods(costs, group));
    report["collectives"] = std::move(groups);
  }
  return report.dump(2);
}

}  // namespace couplet::runtime
