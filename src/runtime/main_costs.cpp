// couplet-costs: prints what the cost file of this machine makes a program choose that joins here. `couplet explain`
// shows it.
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>

#include "os/host.hpp"
#include "runtime/cost_report.hpp"
#include "runtime/settings.hpp"
#include "universe/settings.hpp"

namespace {

constexpr const char* usage =
    "usage: couplet-costs\n"
    "Prints JSON: the cost file that a program finds here (COUPLET_COST_FILE, else the user's configuration\n"
    "directory), and each choice that follows from it, with predicted and measured times, or that a setting forces\n"
    "(COUPLET_EAGER_BYTES, ...). docs/formats/cost.md\n\n"
    "Exit status: 0; 1 the file or a setting is not good; 2 wrong options.\n";

}  // namespace

int main(int count, char** arguments) {
  using namespace couplet;
  if (count > 1) {
    const bool help = std::string_view(arguments[1]) == "--help" || std::string_view(arguments[1]) == "-h";
    std::fputs(usage, help ? stdout : stderr);
    return help ? 0 : 2;
  }
  const auto known = runtime::load_costs({.file = runtime::environment_text("COUPLET_COST_FILE"),
                                          .machine = runtime::environment_text("COUPLET_MACHINE"),
                                          .host = os::host_name()});
  if (!known.ok()) {
    std::fprintf(stderr, "couplet-costs: %s\n", known.status().text().c_str());
    return 1;
  }
  const auto forced = runtime::forced_choices(
      [](std::string_view key) { return universe::setting_value(universe::SettingMap(), key); });
  if (!forced.ok()) {
    std::fprintf(stderr, "couplet-costs: %s\n", forced.status().text().c_str());
    return 1;
  }
  std::printf("%s\n", runtime::report_costs(*known, *forced).dump(2).c_str());
  return 0;
}
