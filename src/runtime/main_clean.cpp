// couplet-clean: removes what crashed runs have left on this node (universe/node_directory).
#include <cstdio>
#include <string_view>

#include "os/clock.hpp"
#include "os/host.hpp"
#include "universe/node_directory.hpp"

namespace {

constexpr const char* usage =
    "usage: couplet-clean [--dry-run]\n"
    "Removes the run directories of this user on this node in which no process lives, below COUPLET_RUN_DIR or\n"
    "/dev/shm/couplet-<uid>. A hub that has died here can no longer be started again after that. Never touches runs\n"
    "with live processes, nor anything that is not a run directory.\n\n"
    "Exit status: 0; 1 something could not be done; 2 wrong options.\n";

constexpr double max_lock_wait_s = 60;

}  // namespace

int main(int count, char** arguments) {
  using namespace couplet;
  bool dry_run = false;
  for (int index = 1; index < count; ++index) {
    const std::string_view option = arguments[index];
    if (option == "--help" || option == "-h") {
      std::fputs(usage, stdout);
      return 0;
    }
    if (option != "--dry-run") {
      std::fprintf(stderr, "couplet-clean: there is no option %s (--help)\n", arguments[index]);
      return 2;
    }
    dry_run = true;
  }
  const auto report = universe::clean(os::run_directory(), dry_run, {os::deadline_after(max_lock_wait_s)});
  if (!report.ok()) {
    std::fprintf(stderr, "couplet-clean: %s\n", report.status().text().c_str());
    return 1;
  }
  for (const auto& each : report->removed) {
    std::printf("%s %s: %s\n", dry_run ? "would remove" : "removed", each.path.c_str(), each.why.c_str());
  }
  for (const auto& path : report->kept) {
    std::printf("kept %s: in use\n", path.c_str());
  }
  return 0;
}
