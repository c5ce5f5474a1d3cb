#include "universe/hub/hub_event.hpp"

#include <nlohmann/json.hpp>

namespace couplet::universe {

std::string event_json(const HubEvent& event, double with_time_s) {
  using Json = nlohmann::json;
  Json json = {{"time_s", with_time_s}, {"event", event.name}};
  if (!event.program.empty()) {
    json["program"] = event.program;
    json["rank"] = event.rank;
    json["peer"] = event.peer;
    json["incarnation"] = event.incarnation;
  }
  if (!event.node.empty()) {
    json["node"] = event.node;
  }
  if (!event.series.empty()) {
    json["series"] = event.series;
  }
  if (!event.text.empty()) {
    json["text"] = event.text;
  }
  return json.dump(-1, ' ', false,
                   Json::error_handler_t::replace);  // never throws: bytes that are not UTF-8 are replaced
}

}  // namespace couplet::universe
