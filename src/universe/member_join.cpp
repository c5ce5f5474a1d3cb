// How a member joins, waits and leaves.
#include <poll.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "counters/counters.hpp"
#include "os/clock.hpp"
#include "os/directory.hpp"
#include "os/host.hpp"
#include "universe/features.hpp"
#include "universe/member.hpp"
#include "universe/node_marks.hpp"

namespace couplet::universe {
namespace {

constexpr std::uint64_t second_ns = 1'000'000'000;
constexpr std::uint64_t connect_patience_ns = 5 * second_ns;  // a hub may just be starting
constexpr std::uint64_t connect_pause_ns = second_ns / 20;
// How much longer than the deadline of a join this process waits: the hub decides at the deadline, and its answer says
// what is missing.
constexpr std::uint64_t hub_answer_ns = 5 * second_ns;
constexpr std::uint64_t leave_patience_ns = second_ns;  // how long leaving waits for a hub that is away
constexpr std::uint64_t slice_ns = second_ns / 10;
constexpr double default_join_timeout_s = 60;
constexpr std::size_t run_digits = 16;  // of COUPLET_RUN
constexpr std::int32_t not_given = -1;  // a rank or size that the launcher says

void sleep_on(int descriptor, bool write, std::uint64_t timeout_ns) {
  pollfd entry{descriptor, static_cast<short>(write ? POLLIN | POLLOUT : POLLIN), 0};
  static_cast<void>(::poll(&entry, descriptor >= 0 ? 1 : 0, static_cast<int>(timeout_ns / 1'000'000 + 1)));
}

// Reads COUPLET_RUN, a number in hexadecimal digits. Returns any_run if it is not set.
Result<std::uint64_t> run_from_environment() {
  const auto text = environment("COUPLET_RUN");
  std::uint64_t run = channel::any_run;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), run, 16);
  const bool is_run = error == std::errc() && text.size() == run_digits && end == text.data() + text.size();
  if (!text.empty() && (!is_run || run == channel::any_run)) {
    return fail(Code::config, "COUPLET_RUN is '{}'; it must be the {} hexadecimal digits that the hub prints", text,
                run_digits);
  }
  return run;
}

Status check_place(std::int32_t rank, std::int32_t size) {
  if (size < 1 && size != not_given) {
    return fail(Code::argument, "size is {}; it must be at least 1", size);
  }
  if (rank < not_given) {  // the hub refuses one that is too large, and names the program
    return size == not_given ? fail(Code::argument, "rank is {}; it must be at least 0", rank)
                             : fail(Code::argument, "rank is {}; it must be 0 to {}", rank, size - 1);
  }
  if ((rank == not_given) == (size == not_given)) {
    return {};
  }
  return rank == not_given ? fail(Code::argument, "size is {}, and rank is missing: give both, or neither", size)
                           : fail(Code::argument, "rank is {}, and size is missing: give both, or neither", rank);
}

// A member whose secret file is named wrongly must not make another secret there. At the default place, the first
// process that comes makes it.
Result<channel::Secret> secret_of(const JoinRequest& request) {
  auto path = request.secret_file;
  const bool named = !path.empty() || !environment("COUPLET_SECRET_FILE").empty();
  if (path.empty()) {
    COUPLET_TRY_VALUE(path, channel::secret_path());
  }
  auto secret = named ? channel::read_secret(path) : channel::read_or_make_secret(path);
  if (named && secret.code() == Code::not_found) {
    return fail(Code::config, "the secret file {} does not exist: name that of the hub, or a copy of it", path);
  }
  return secret;
}

}  // namespace

Result<JoinOptions> join_options(const JoinRequest& request) {
  COUPLET_TRY(check_series_variables());
  JoinOptions options;
  options.identity.program = request.program.empty() ? environment("COUPLET_PROGRAM") : request.program;
  if (options.identity.program.empty()) {
    return fail(Code::config, "joining needs the name of this program: an argument, or COUPLET_PROGRAM");
  }
  options.hub = request.hub.empty() ? environment("COUPLET_HUB") : request.hub;
  if (options.hub.empty()) {
    return fail(
        Code::config,
        "joining needs the hub's address: use couplet run, or give it as an argument or by COUPLET_HUB=host:port");
  }
  if (request.hub.empty() || request.hub == environment("COUPLET_HUB")) {
    COUPLET_TRY_VALUE(options.expected_run, run_from_environment());
  }
  COUPLET_TRY(check_place(request.rank, request.size));
  if (request.size != not_given) {
    options.identity.rank = request.rank;
    options.identity.size = request.size;
  } else if (auto told = identity_from_launcher(); told.ok()) {
    options.identity.rank = told->rank;
    options.identity.size = told->size;
  } else if (told.code() != Code::not_found) {
    return told.status();
  }
  options.timeout_s = request.timeout_s;
  options.interrupted = request.interrupted;
  if (!request.timeout_given) {
    COUPLET_TRY_VALUE(options.timeout_s, environment_number("COUPLET_JOIN_TIMEOUT", default_join_timeout_s));
  }
  if (std::isinf(options.timeout_s)) {
    options.timeout_s = -1;  // for ever, too: messages to the hub have finite numbers only
  }
  COUPLET_TRY_VALUE(options.secret, secret_of(request));
  options.run_directory = os::run_directory();
  options.node_name = environment("COUPLET_NODE");
  return options;
}

Result<std::unique_ptr<Membership>> join(JoinOptions options) {
  auto member = std::make_unique<Member>(std::move(options));
  COUPLET_TRY(member->join());
  return std::unique_ptr<Membership>(std::move(member));
}

Status Member::join() {
  const auto deadline = os::deadline_after(options_.timeout_s);
  const auto patience = deadline == os::never ? os::never : deadline + hub_answer_ns;
  join_deadline_ns_ = deadline;
  COUPLET_TRY(connect(deadline));
  introduce();
  const auto step = [&](const auto& done, const char* what) -> Status {
    const auto hub_stays_away = [&] { return !hub_status_.ok() && (!answers_may_come() || os::now_ns() >= deadline); };
    auto status = wait([&] { return done() || !refusal_.final.ok() || hub_stays_away(); }, patience, what);
    COUPLET_TRY(refusal_.final);
    return done() || !hub_stays_away() ? status : hub_status_;
  };
  COUPLET_TRY(step([&] { return admitted_; }, "the hub's answer"));
  COUPLET_TRY(enter_node(deadline));
  COUPLET_TRY(step([&] { return placed_; }, "the sizes of all programs"));
  COUPLET_TRY(present());
  return step([&] { return complete_; }, "all programs that are needed");
}

// Connects to the hub. If it does not listen yet, tries again for a while, since launchers start processes in any
// order.
Status Member::connect(std::uint64_t deadline_ns) {
  if (!options_.dial) {
    COUPLET_TRY_VALUE(hub_, os::resolve(options_.hub));
  }
  const auto until = options_.hub_is_up ? 0 : std::min(deadline_ns, os::now_ns() + connect_patience_ns);
  while (true) {
    auto status = connect_once(std::max(deadline_ns, os::now_ns() + second_ns));
    if (status.code() != Code::hub_lost || os::now_ns() >= until) {
      return status;
    }
    if (options_.interrupted && options_.interrupted()) {
      return Code::interrupted;
    }
    sleep_on(-1, false, connect_pause_ns);
  }
}

// Begins a connection to the hub.
Status Member::dial() {
  auto socket = options_.dial ? options_.dial() : os::connect_tcp(hub_);
  if (!socket.ok()) {
    return fail(Code::hub_lost, "no hub at {}: {}", options_.hub, socket.status().text());
  }
  channel::HandshakeSelf self;
  self.role = options_.relay ? wire::Role::relay : wire::Role::rank;
  self.run_id = options_.expected_run;
  self.credentials = options_.credentials;
  if (self.credentials->ticket.is_signed) {
    self.id = self.credentials->ticket.peer;
    self.incarnation = self.credentials->ticket.incarnation;
  }
  self.features = handshake_features(options_.protection);
  self.lowest_version = options_.lowest_version;
  self.highest_version = options_.highest_version;
  connection_ = ControlConnection::initiate(std::move(*socket), hub_, options_.secret, self,
                                            fmt::format("the hub at {}", options_.hub), options_.make_lane);
  broken_ = false;
  introduced_ = false;
  refusal_.on_this_connection = false;
  reached_again_ = reached_;
  return {};
}

Status Member::connect_once(std::uint64_t deadline_ns) {
  COUPLET_TRY(dial());
  bool connected = false;
  const auto done = [&] {
    connected = connected || connection_->state() == ControlConnection::State::handshake;
    return connection_->state() == ControlConnection::State::open || !hub_status_.ok();
  };
  auto status = wait(done, deadline_ns, fmt::format("an answer of the hub at {}", options_.hub));
  if (connection_->state() == ControlConnection::State::open) {
    protection_ = connection_->peer().protection;
    reached_ = true;
    redial_ = Redial(static_cast<std::uint64_t>(os::process_id()) * 7919 +
                     static_cast<std::uint64_t>(options_.identity.rank));
    return {};
  }
  if (hub_status_.ok()) {
    return status;
  }
  hub_status_ = {};
  const auto why = connection_->failure();
  if (why.code() == Code::mismatch) {
    return fail(Code::mismatch, "the hub at {} serves another run than COUPLET_RUN asks for: {}", options_.hub,
                why.text());
  }
  const bool told = why.code() == Code::authentication || why.code() == Code::version || why.code() == Code::protocol;
  if (told || connected) {
    return told ? why : fail(Code::hub_lost, "no hub at {}: {}", options_.hub, why.text());
  }
  return fail(Code::hub_lost, "no hub at {}: {}", options_.hub, why.text());
}

Status Member::enter_node(std::uint64_t deadline_ns) {
  const LockWait wait{std::max(deadline_ns, os::now_ns() + second_ns), options_.interrupted};
  COUPLET_TRY_VALUE(directory_, NodeDirectory::enter(options_.run_directory, run_id_, options_.node_name, wait));
  say(NodeMessage{directory_->key(), noted_number(directory_->path())});
  return {};
}

Status Member::present() {
  liveness_.enter(directory_->path(), id_, node_);
  static_cast<void>(note_number(directory_->path(), node_));  // without it, only a hub that is started again misses it
  os::PageOwner owner;
  COUPLET_TRY_VALUE(owner.memory_nonce, os::random_bits());
  owner.run_id = run_id_;
  owner.peer = id_;
  owner.incarnation = incarnation_;
  owner.rank = options_.relay ? -1 : options_.identity.rank;
  owner.rank_count = static_cast<std::uint32_t>(ranks_.size());
  owner.counter_count = counters::counter_count;
  owner.program = options_.relay ? "relay" : options_.identity.program;
  owner.host = os::host_name();
  COUPLET_TRY_VALUE(page_, os::ProcessPage::create(directory_->path(), owner));
  const auto bell = os::bell_path(directory_->path(), id_);
  COUPLET_TRY(os::remove_file(bell));  // it may be left from an incarnation that died
  COUPLET_TRY_VALUE(doorbell_, os::Doorbell::open(bell, page_->sleep_flag()));
  if (auto* const self = find_peer(id_); self != nullptr) {
    self->incarnation = incarnation_;
  }
  contact_.process = os::process_id();
  if (options_.contacts) {
    auto local = connection_->local();
    local.port = 0;
    COUPLET_TRY_VALUE(contact_.transports, options_.contacts(*this, local));
  }
  if (auto* const self = find_peer(id_); self != nullptr) {
    set_contact(*self, contact_);
  }
  if (introduced_ && connection_->state() == ControlConnection::State::open && hub_status_.ok()) {
    say(PresentMessage{contact_});  // otherwise `rejoin` tells a hub that is started again
  }
  return {};
}

// ---- waiting

Status Member::attach(engine::Engine* engine) {
  if (engine_ != nullptr) {
    if (watched_ >= 0) {
      engine_->unwatch(watched_);
    }
    engine_->remove(*this);
    watched_ = -1;
  }
  engine_ = engine;
  if (engine_ != nullptr) {
    engine_->add(*this, engine::Rate::seldom);
    watch();
  }
  return {};
}

// Lets the engine watch the connection's descriptor as the connection needs it.
void Member::watch() {
  if (engine_ == nullptr) {
    return;
  }
  const int descriptor = connection_ == nullptr ? -1 : connection_->descriptor();
  const bool write = connection_ != nullptr && connection_->wants_write();
  if (descriptor == watched_ && write == watched_write_) {
    return;
  }
  if (watched_ >= 0 && descriptor != watched_) {
    engine_->unwatch(watched_);
  }
  if (descriptor >= 0) {
    static_cast<void>(engine_->watch(descriptor, write, *this));
  }
  watched_ = descriptor;
  watched_write_ = write;
}

Status Member::wait(const std::function<bool()>& done, std::uint64_t deadline_ns, const std::string& what,
                    bool interruptible) {
  if (engine_ == nullptr) {
    return wait_on_socket(done, deadline_ns, what);
  }
  watch();
  return engine_->wait(
      done, deadline_ns, [&] { return what; }, this, interruptible);
}

Status Member::wait_on_socket(const std::function<bool()>& done, std::uint64_t deadline_ns, const std::string& what) {
  const auto begin = os::now_ns();
  while (true) {
    hear();
    dial_again(os::now_ns());
    liveness_.tell();
    if (done()) {
      return {};
    }
    if (options_.interrupted && options_.interrupted()) {
      return Code::interrupted;
    }
    const auto now = os::now_ns();
    if (now >= deadline_ns) {
      return fail(Code::timeout, "waited {:.1f} s for {}", static_cast<double>(now - begin) / 1e9, what);
    }
    if (!connection_->ready()) {
      sleep_on(connection_->descriptor(), connection_->wants_write(), std::min(slice_ns, deadline_ns - now));
    }
  }
}

Status Member::leave(std::uint64_t deadline_ns) {
  if (left_) {
    return fail(Code::state, "this process has left the universe already");
  }
  left_ = true;
  Status status;
  auto patience = deadline_ns;  // shortened when the hub is away
  // If it has been away for so long that calls no longer wait for it, it is dialed just once: it may have come back
  // while this process made no call that looks for it.
  const auto look_for_hub = [&] {
    const bool once = !answers_may_come();
    const auto ended = [&] { return connection_->state() == ControlConnection::State::ended; };
    const bool vain = once && ended() && !dial().ok();
    const auto decided = [&] { return hub_status_.ok() || !hub_may_return() || (once && ended()); };
    static_cast<void>(vain ? Status() : wait(decided, patience, "the hub"));
  };
  do {
    if (hub_status_.ok()) {
      say(LeaveMessage{});
      status = wait([&] { return goodbye_ || !hub_status_.ok(); }, patience, "the hub's goodbye");
    }
    if (!goodbye_ && !hub_status_.ok() && hub_may_return()) {
      patience = std::min(patience, os::now_ns() + leave_patience_ns);
      look_for_hub();
    }
  } while (!goodbye_ && hub_status_.ok() && status.ok() && os::now_ns() < patience);
  if (!goodbye_ && directory_ != nullptr) {  // a hub that is started again will find the mark
    static_cast<void>(mark_left(directory_->path(), id_, incarnation_));
  }
  static_cast<void>(attach(nullptr));
  connection_->shut();
  connection_->poll();
  liveness_.stop_looking();
  return status;
}

}  // namespace couplet::universe
