// couplet-relay: serves the series of its node to readers on other nodes (relay/). It runs until the hub says that the
// universe has ended. If the hub is lost, it runs as long as a process on its node writes, or a reader reads, and waits
// for the hub for a while if neither does but ranks of other nodes may still want what it keeps (hub_absence). In the
// background a keeper starts it again if it is killed; readers continue, since their holds are in the writers' files.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>

#include "os/directory.hpp"
#include "os/host.hpp"
#include "os/lock.hpp"
#include "os/stop_signals.hpp"
#include "runtime/control_lanes.hpp"
#include "runtime/file_hub.hpp"
#include "runtime/hub_absence.hpp"
#include "runtime/listening.hpp"
#include "runtime/node_relay.hpp"
#include "runtime/settings.hpp"
#include "runtime/transports.hpp"
#include "universe/join.hpp"

namespace {

using namespace couplet;

// exists: another relay serves the node. no_hub: it has not joined, since no hub answers.
enum Exit : int { exit_over = 0, exit_failed = 1, exit_usage = 2, exit_exists = 3, exit_no_hub = 4 };
constexpr double leave_timeout_s = 5;                       // for the hub
constexpr std::uint64_t leave_patience_ns = 5'000'000'000;  // for peers that take nothing
constexpr double rejoin_timeout_s = 10;
constexpr std::uint64_t second_ns = 1'000'000'000;
constexpr int most_quick_ends = 10;  // relays that ran for less than a second
// The pauses double from the first one: 6.3 s together. While processes on the node wait for a hub, the last pause is
// repeated.
constexpr int most_early_starts = 6;
constexpr std::uint64_t first_pause_ns = 100'000'000;

constexpr const char* usage =
    "usage: couplet-relay [--detach]\n"
    "Serves the series of this node to readers on other nodes. COUPLET_HUB, COUPLET_SECRET_FILE, COUPLET_INTERFACE,\n"
    "COUPLET_NODE and COUPLET_RUN_DIR as for the programs. --detach: goes on in the background, and comes again when "
    "killed.\n";

// SIGTERM, SIGINT and SIGHUP as a source of the engine.
class StopSignals final : public engine::Source {
 public:
  [[nodiscard]] int descriptor() const { return descriptor_.number(); }
  [[nodiscard]] bool told() const { return told_; }
  int poll(std::uint64_t /*now_ns*/, int /*budget*/) override {
    signalfd_siginfo info{};
    const bool came = ::read(descriptor_.number(), &info, sizeof info) > 0;
    told_ = told_ || came;
    return came ? 1 : 0;
  }
  [[nodiscard]] bool ready() const override { return false; }

 private:
  os::Descriptor descriptor_ = os::open_stop_signals();
  bool told_ = false;
};

// Removes the binding to cores that a relay has inherited from the process that started it: it serves the whole node.
void forget_affinity() {
  cpu_set_t all;
  std::memset(&all, 0xFF, sizeof all);
  static_cast<void>(sched_setaffinity(0, sizeof all, &all));
}

Result<std::unique_ptr<universe::Membership>> join(std::unique_ptr<link::TcpListener>& listener, double timeout_s,
                                                   bool hub_is_up) {
  universe::JoinRequest request;
  request.program = "relay";
  request.rank = 0;
  request.size = 1;
  request.timeout_s = timeout_s;
  request.timeout_given = true;
  COUPLET_TRY_VALUE(auto options, universe::join_options(request));
  options.relay = true;
  options.hub_is_up = hub_is_up;
  options.make_lane = runtime::tcp_control_lanes();
  runtime::allow_file_hub(options);
  const bool by_files = static_cast<bool>(options.dial);
  const std::string hub_directory = runtime::directory_of_hub(options.hub);
  options.contacts = [&listener, by_files, hub_directory](
                         universe::Membership& self, const os::Endpoint& towards_hub) -> Result<link::ContactList> {
    COUPLET_TRY_VALUE(listener, runtime::listen_for_members(towards_hub, by_files));
    return runtime::published_contacts(self, listener.get(), runtime::file_directory(self, hub_directory));
  };
  return universe::join(std::move(options));
}

// Returns true if a process on this node is alive. It needs no hub.
bool inhabited(universe::Membership& membership) {
  for (std::int32_t rank = 0; rank < membership.size(); ++rank) {
    const auto peer = static_cast<channel::PeerId>(rank);
    const auto& info = membership.peer(peer);
    if (info.state == universe::PeerState::present && info.node == membership.node() &&
        universe::alive(membership, peer).ok()) {
      return true;
    }
  }
  return false;
}

// Returns true if a rank is, or may come, on another node.
bool read_elsewhere(universe::Membership& membership) {
  for (std::int32_t rank = 0; rank < membership.size(); ++rank) {
    const auto peer = static_cast<channel::PeerId>(rank);
    const auto& info = membership.peer(peer);
    const bool elsewhere = info.state == universe::PeerState::present && info.node != membership.node();
    if (info.state == universe::PeerState::absent || (elsewhere && universe::alive(membership, peer).ok())) {
      return true;
    }
  }
  return false;
}

Status serve(double join_timeout_s, bool hub_is_up, bool& joined) {
  StopSignals stop;
  std::unique_ptr<link::TcpListener> listener;
  COUPLET_TRY_VALUE(const auto membership, join(listener, join_timeout_s, hub_is_up));
  joined = true;
  counters::Counters counters(membership->page().counters());
  engine::Engine engine(membership->doorbell(), engine::Patience{});
  engine.set_counters(counters);
  COUPLET_TRY(membership->attach(&engine));
  const std::string hub_directory = runtime::directory_of_hub(runtime::environment_text("COUPLET_HUB"));
  COUPLET_TRY_VALUE(auto options, runtime::transport_options(*membership, hub_directory));
  COUPLET_TRY(runtime::open_ucx(options));
  COUPLET_TRY_VALUE(auto connections,
                    runtime::open_connections(*membership, engine, std::move(listener), options, counters));
  COUPLET_TRY_VALUE(const auto relay, runtime::NodeRelay::open(*membership, engine, counters, {}));
  relay::Dispatch dispatch(&relay->server(), nullptr);
  // Channels end before the objects that take their frames, also if something fails below.
  struct EndChannels {
    decltype(connections)& ending;
    ~EndChannels() { ending.reset(); }
  };
  const EndChannels end_channels{connections};
  connections->set_handler(wire::FrameFamily::relay, dispatch);
  membership->on_lost(
      [&](channel::PeerId peer, const Status& why) {
        if (connections) {
          connections->lost(peer, why);
        }
      },
      [&](channel::PeerId peer) { return connections && connections->still_sends(peer); });
  COUPLET_TRY(engine.watch(stop.descriptor(), false, stop));
  COUPLET_TRY_VALUE(const auto patience, runtime::hub_patience(*membership));
  runtime::HubAbsence absence(patience);
  const auto over = [&] {
    const Status hub = membership->hub();
    absence.look(hub, os::now_ns());
    if (stop.told() || hub.ok() || membership->over()) {
      return stop.told() || !hub.ok();
    }
    const bool used = relay->server().subscriptions() > 0 || inhabited(*membership);
    return !used && (absence.given_up() || !read_elsewhere(*membership));
  };
  Status waited = engine.wait(over, os::never, [] { return "the end of the universe"; });
  engine.unwatch(stop.descriptor());
  connections->shut(leave_patience_ns, [](engine::PeerPatience&) {});
  Status left = membership->leave(os::deadline_after(leave_timeout_s));
  return waited.ok() ? left : waited;
}

int run(double join_timeout_s, bool hub_is_up) {
  try {
    bool joined = false;
    const Status status = serve(join_timeout_s, hub_is_up, joined);
    if (status.ok() || status.code() == Code::exists) {
      return status.ok() ? exit_over : exit_exists;
    }
    std::fprintf(stderr, "couplet-relay: %s\n", status.text().c_str());
    return !joined && status.code() == Code::hub_lost ? exit_no_hub : exit_failed;
  } catch (const std::bad_alloc&) {
    std::fputs("couplet-relay: no memory\n", stderr);
  }
  return exit_failed;
}

// Passes its signals on to the relay, and waits for the relay's end. Returns the status of waitpid.
int wait_for(pid_t relay, const sigset_t& signals) {
  int status = 0;
  while (::waitpid(relay, &status, WNOHANG) == 0) {
    if (const int number = ::sigwaitinfo(&signals, nullptr); number > 0 && number != SIGCHLD) {
      ::kill(relay, SIGTERM);
    }
  }
  return status;
}

// Returns true if a process of this run, which holds the lock of its page, lives on this node. It needs no hub.
bool node_is_used() {
  const std::string run = runtime::environment_text("COUPLET_RUN");
  const std::string node = runtime::environment_text("COUPLET_NODE");
  const std::string directory = fmt::format("{}/{}{}{}", os::run_directory(), run, node.empty() ? "" : "-", node);
  const auto names = os::list_directory(directory);
  return !run.empty() && names.ok() && std::any_of(names->begin(), names->end(), [&](const std::string& name) {
    return name.starts_with("page-") && os::is_locked(fmt::format("{}/{}", directory, name));
  });
}

// Starts the relay, and another one if it was killed, until one has ended by itself.
int keep() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) {
    sigaddset(&signals, number);
  }
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  double join_timeout_s = -1;  // the first one may have to wait for all programs
  int early_starts = 0;        // in a row
  for (int quick_ends = 0; quick_ends < most_quick_ends && early_starts < most_early_starts;) {
    const std::uint64_t started_ns = os::now_ns();
    const pid_t relay = ::fork();
    if (relay < 0) {
      return exit_failed;
    }
    if (relay == 0) {
      sigprocmask(SIG_UNBLOCK, &signals, nullptr);
      std::exit(run(join_timeout_s, true));  // a member has asked for a relay
    }
    const int status = wait_for(relay, signals);
    const bool again = join_timeout_s >= 0;
    // The hub may hear of the end of the last relay after it hears of the next one, or may be away for a moment.
    const int ended = WIFEXITED(status) ? WEXITSTATUS(status) : exit_over;
    const bool early = ended == exit_no_hub || (again && ended == exit_exists);
    if (!early && (!WIFSIGNALED(status) || WTERMSIG(status) == SIGTERM)) {
      return WIFEXITED(status) ? WEXITSTATUS(status) : exit_over;
    }
    join_timeout_s = rejoin_timeout_s;
    if (early) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(first_pause_ns << static_cast<unsigned>(early_starts)));
      const bool awaited = ended == exit_no_hub && node_is_used();
      early_starts = awaited ? std::min(early_starts + 1, most_early_starts - 1) : early_starts + 1;
      continue;
    }
    early_starts = 0;
    quick_ends = os::now_ns() - started_ns < second_ns ? quick_ends + 1 : 0;
  }
  return exit_failed;
}

}  // namespace

int main(int count, char** arguments) {
  bool detach = false;
  for (int index = 1; index < count; ++index) {
    const std::string_view word = arguments[index];
    if (word == "--help" || word == "-h") {
      std::fputs(usage, stdout);
      return exit_over;
    }
    if (word == "--version") {
      std::printf("couplet-relay %d.%d.%d\n", COUPLET_VERSION_MAJOR, COUPLET_VERSION_MINOR, COUPLET_VERSION_PATCH);
      return exit_over;
    }
    if (word != "--detach") {
      std::fprintf(stderr, "couplet-relay: no option '%s'\n%s", arguments[index], usage);
      return exit_usage;
    }
    detach = true;
  }
  if (detach && ::fork() != 0) {
    return exit_over;
  }
  forget_affinity();
  const int status = detach ? keep() : run(-1, false);
  return status == exit_exists ? exit_over : status == exit_no_hub ? exit_failed : status;
}
