// The hub as couplet-hub puts it together. It tells the number of its run, with which it can be resumed.
#include <cstdio>

#include "os/stop_signals.hpp"
#include "programs.hpp"
#include "runtime/control_lanes.hpp"
#include "universe/hub/hub_options.hpp"

namespace world {
namespace {

couplet::Status serve(const std::vector<std::string>& arguments, void (*started)(std::uint64_t)) {
  using namespace couplet;
  const os::Descriptor stop = os::open_stop_signals();
  std::vector<const char*> words;
  for (const auto& word : arguments) {
    words.push_back(word.c_str());
  }
  COUPLET_TRY_VALUE(auto command, universe::parse_hub_command(words));
  COUPLET_TRY_VALUE(command.server.secret, channel::read_or_make_secret(command.secret_file));
  command.server.make_lane = runtime::tcp_control_lanes();
  command.server.note = [](const std::string&) {};
  COUPLET_TRY_VALUE(const auto server, universe::HubServer::open(std::move(command.server)));
  started(server->run_id());
  return server->run(stop.number());
}

}  // namespace

void run_hub(const std::vector<std::string>& arguments, void (*started)(std::uint64_t)) {
  if (const auto status = serve(arguments, started); !status.ok()) {
    std::fprintf(stderr, "hub: %s\n", status.text().c_str());
  }
}

}  // namespace world
