#include <nlohmann/json.hpp>

#include "os/host.hpp"
#include "runtime/universe.hpp"

namespace couplet::runtime {

std::string Universe::explain() const {
  using Json = nlohmann::ordered_json;
  const auto& programs = member_->programs();
  Json report;
  report["version"] = {{"major", COUPLET_VERSION_MAJOR}, {"minor", COUPLET_VERSION_MINOR}};
  report["program"] = programs[static_cast<std::size_t>(member_->program())].name;
  report["rank"] = member_->rank();
  report["node"] = {{"name", std::string(member_->node_name(member_->node()))},
                    {"directory", member_->node_directory()},
                    {"usable_cores", os::usable_cores()}};
  report["tcp_protection"] = channel::protection_name(member_->protection());
  const auto* const crowd = engine_->crowd();
  const char* const why = crowd == nullptr   ? "the setting spin_us"
                          : crowd->crowded() ? "more processes run than there are cores"
                                             : "a core for each process that runs";
  report["waiting"] = {{"spin_us", static_cast<double>(engine_->spin_ns()) / 1e3},
                       {"yield_us", static_cast<double>(patience_.yield_ns) / 1e3},
                       {"why", why}};
  const std::string relay = member_->setting("relay");
  report["series_of_other_nodes"] = {
      {"relay", relay.empty() ? "auto" : relay},
      {"why", relay.empty() ? "the default: a writer starts the relay of its node" : "the setting relay"}};
  if (window_) {
    report["mpi_window"] = {
        {"library", window_->library()}, {"ranks", window_->size()}, {"memory", window_->sharing()}};
    const std::string choices = window_->choices();
    report["mpi_window"]["calls"] = choices.empty() ? "none was measured" : choices;
  }
  Json peers = Json::array();
  const auto flows = messenger_->report();
  for (const auto& contact : connections_->report()) {
    Json peer{{"rank", contact.peer}, {"name", contact.name}, {"link", contact.link}, {"why", contact.why}};
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
        peer["large_messages"] = flow.large_messages;
        peer["large_messages_why"] = flow.why;
        peer["lost"] = flow.lost;
      }
    }
    peers.push_back(std::move(peer));
  }
  report["peers"] = std::move(peers);
  return report.dump(2);
}

}  // namespace couplet::runtime
