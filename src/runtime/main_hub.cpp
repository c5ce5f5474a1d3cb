// couplet-hub: the rendezvous of a universe (universe/hub).
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <new>

#include "os/stop_signals.hpp"
#include "runtime/control_lanes.hpp"
#include "runtime/file_hub.hpp"
#include "universe/hub/hub_options.hpp"

namespace {

using namespace couplet;

enum Exit : int { exit_over = 0, exit_failed = 1, exit_usage = 2 };

int complain(const Status& status, int code) {
  std::fprintf(stderr, "couplet-hub: %s\n", status.text().c_str());
  return code;
}

// Allows one connection for each rank of the universe.
void allow_all_descriptors() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
}

bool is_same_file(const std::string& one, const std::string& other) {
  struct stat first {};
  struct stat second {};
  return ::stat(one.c_str(), &first) == 0 && ::stat(other.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

Status serve(universe::HubCommand command) {
  const os::Descriptor stop = os::open_stop_signals();
  allow_all_descriptors();
  std::signal(SIGXFSZ, SIG_IGN);  // a limit of the size of files fails a write, and does not end the universe
  if (command.secret_file.empty()) {
    COUPLET_TRY_VALUE(command.secret_file, channel::secret_path());
  }
  COUPLET_TRY_VALUE(command.server.secret, channel::read_or_make_secret(command.secret_file));
  if (is_same_file(command.secret_file, command.server.key_file)) {
    return fail(Code::argument, "--key-file is {}, which is the secret file: the hub's key needs a file of its own",
                command.server.key_file);
  }
  command.server.make_lane = runtime::tcp_control_lanes();
  command.server.note = [](const std::string& text) { std::fprintf(stderr, "couplet-hub: %s\n", text.c_str()); };
  COUPLET_TRY_VALUE(const auto server, universe::HubServer::open(std::move(command.server)));
  if (command.until_input_ends) {
    COUPLET_TRY(server->end_with(STDIN_FILENO));
  }
  std::unique_ptr<runtime::FileHub> files;
  std::string address = os::endpoint_text(server->endpoint());
  if (!command.directory.empty()) {
    COUPLET_TRY_VALUE(files, runtime::FileHub::open(command.directory, server->run_id(), server->endpoint()));
    address = "file:" + command.directory;
  }
  std::printf("COUPLET_HUB=%s\nCOUPLET_RUN=%016llx\n", address.c_str(),
              static_cast<unsigned long long>(server->run_id()));
  std::fflush(stdout);
  return server->run(stop.number());
}

}  // namespace

int main(int count, char** arguments) {
  try {
    auto command =
        universe::parse_hub_command(std::span<const char* const>(arguments + 1, static_cast<std::size_t>(count - 1)));
    if (!command.ok()) {
      return complain(command.status(), exit_usage);
    }
    if (command->help) {
      std::fputs(universe::hub_usage(), stdout);
      return exit_over;
    }
    if (command->version) {
      std::printf("couplet-hub %d.%d.%d\n", COUPLET_VERSION_MAJOR, COUPLET_VERSION_MINOR, COUPLET_VERSION_PATCH);
      return exit_over;
    }
    const auto status = serve(std::move(*command));
    return status.ok() ? exit_over : complain(status, exit_failed);
  } catch (const std::bad_alloc&) {
    return complain({Code::memory, "no memory"}, exit_failed);
  }
}
