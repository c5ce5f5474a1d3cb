#include "runtime/universe.hpp"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "os/descriptor_limit.hpp"
#include "runtime/control_lanes.hpp"
#include "runtime/exchange_record.hpp"
#include "runtime/file_hub.hpp"
#include "runtime/listening.hpp"
#include "runtime/node_load.hpp"
#include "runtime/settings.hpp"

namespace couplet::runtime {
namespace {

constexpr double leave_timeout_s = 5;                       // for the hub
constexpr std::uint64_t leave_patience_ns = 5'000'000'000;  // for peers that take nothing
// How long leaving waits for a relay that this process has started and that has not joined yet.
constexpr double relay_timeout_s = 10;
constexpr int max_spin_rounds = 4000;
constexpr std::uint64_t spin_round_ns = 10;  // about what a round takes at least
constexpr double push_timeout_s = 30;
// The longest sleep if there is a window: nothing rings the doorbell when MPI has something to do.
constexpr std::uint64_t window_nap_ns = 100'000;
constexpr int pushes_each_call = 64;
constexpr unsigned calls_between_rounds = 16;
constexpr std::uint64_t rounds_interval_ns = 10'000'000;
constexpr std::uint64_t look_interval_ns = 100'000'000;

void print_note(const std::string& text) {
  if (!quiet()) {
    std::fprintf(stderr, "couplet: %s\n", text.c_str());
  }
}

}  // namespace

Result<std::unique_ptr<Universe>> Universe::join(const universe::JoinRequest& request) {
  std::unique_ptr<Universe> universe(new Universe);
  COUPLET_TRY(universe->assemble(request));
  return universe;
}

Status Universe::assemble(const universe::JoinRequest& request) {
  os::raise_descriptor_limit();
  COUPLET_TRY_VALUE(auto options, universe::join_options(request));
  std::unique_ptr<link::TcpListener> listener;
  options.note = print_note;
  options.make_lane = tcp_control_lanes();
  allow_file_hub(options);
  const std::string hub_directory = directory_of_hub(options.hub);
  const bool by_files = static_cast<bool>(options.dial);
  options.contacts = [&listener, by_files, hub_directory](
                         universe::Membership& self, const os::Endpoint& towards_hub) -> Result<link::ContactList> {
    COUPLET_TRY_VALUE(listener, listen_for_members(towards_hub, by_files));
    return published_contacts(self, listener.get(), file_directory(self, hub_directory));
  };
  COUPLET_TRY_VALUE(member_, universe::join(std::move(options)));
  COUPLET_TRY_VALUE(KnownCosts costs, known_costs(*member_));
  COUPLET_TRY(exchange_recorder(*member_, print_note).status());  // a mistaken setting is told now
  const auto& own = member_->programs()[static_cast<std::size_t>(member_->program())];
  if (!costs.warning.empty() && member_->rank() == own.first_rank) print_note(costs.warning);
  counters_ = std::make_unique<counters::Counters>(member_->page().counters());
  COUPLET_TRY_VALUE(const double spin_us, wanted_spin_us(*member_));
  patience_ = engine::patience_for(spin_us);
  engine_ = std::make_unique<engine::Engine>(member_->doorbell(), patience_);
  if (spin_us < 0) {
    engine_->set_crowd([load = std::make_shared<NodeLoad>(*member_)] { return load->measure(); });
  }
  engine_->set_counters(*counters_);
  COUPLET_TRY(member_->attach(engine_.get()));
  COUPLET_TRY_VALUE(TransportOptions transport, transport_options(*member_, hub_directory));
  COUPLET_TRY(open_ucx(transport));
  COUPLET_TRY_VALUE(connections_, open_connections(*member_, *engine_, std::move(listener), transport, *counters_));
  COUPLET_TRY(make_messenger(costs));
  environment_ = std::make_unique<SeriesEnvironment>(*member_, *engine_, *messenger_, *counters_);
  environment_->set_costs(std::move(costs));
  return make_relay(request, transport.walk.patience_ns);
}

// Called before the first channel, since its frames need an object that takes them.
Status Universe::make_relay(const universe::JoinRequest& request, std::uint64_t patience_ns) {
  COUPLET_TRY_VALUE(const RelayMode mode, relay_mode(*member_));
  relay::RemoteOptions options;
  options.in_calls = mode == RelayMode::in_calls;
  if (mode == RelayMode::automatic) {
    options.restart_patience_ns = patience_ns;
  }
  remote_ = std::make_unique<relay::Remote>(*environment_, *connections_, options);
  if (options.in_calls) {
    relay::ServerOptions server;
    server.watch = false;
    COUPLET_TRY_VALUE(node_relay_, NodeRelay::open(*member_, *engine_, *counters_, server));
  }
  relay_frames_ = std::make_unique<relay::Dispatch>(node_relay_ ? &node_relay_->server() : nullptr, remote_.get());
  connections_->set_handler(wire::FrameFamily::relay, *relay_frames_);
  environment_->set_remote(mode == RelayMode::none ? nullptr : remote_.get(), options.in_calls);
  relay_start_ = std::make_unique<RelayStart>(*member_, *engine_, request, print_note);
  return {};
}

void Universe::heard_of_loss(channel::PeerId peer, const Status& why) {
  connections_->lost(peer, why);
  if (peer < channel::first_relay_peer) {
    messenger_->peer_lost(peer, why);
  }
  if (mailbox_) {
    mailbox_->poll(0, INT_MAX);  // handles what it sent before it left
    mailbox_->lost(peer, why);
  }
  if (relay_start_) {
    if (const Status started = relay_start_->again(peer); !started.ok()) {
      print_note(started.text());
    }
  }
}

// Handles peers and the hub. Writers that send in their calls also send what was published, and take in credit. They
// handle peers and the hub in some of their calls, or in each if the calls are far apart, since a reader waits for its
// answer meanwhile.
void Universe::attend(std::uint64_t now_ns) {
  if (now_ns >= next_look_ns_) {
    static_cast<void>(member_->catch_up(universe::CatchUp::come_back));
  }
  if (!node_relay_) {
    next_look_ns_ = now_ns + look_interval_ns;
    engine_->poll();
    engine_->look_at_all();
    return;
  }
  auto& server = node_relay_->server();
  const int pushed = server.poll(pushes_each_call);
  server.take_credit();
  server.poll(pushes_each_call - pushed);  // steps for which the credit has come just now
  if (pushed_++ % calls_between_rounds == 0 || now_ns >= next_look_ns_) {
    next_look_ns_ = now_ns + rounds_interval_ns;
    for (unsigned round = 0; round < calls_between_rounds; ++round) {
      engine_->poll();
    }
  }
}

Status Universe::make_messenger(const KnownCosts& costs) {
  COUPLET_TRY_VALUE(auto options, messenger_options(*member_, costs.costs));
  options.counters = counters_.get();
  options.ask_for_news = [this] { static_cast<void>(member_->catch_up(universe::CatchUp::ask)); };
  options.spin_rounds = static_cast<int>(std::min<std::uint64_t>(patience_.spin_ns / spin_round_ns, max_spin_rounds));
  messenger_ =
      std::make_unique<message::Messenger>(*connections_, engine_.get(), member_->id(), member_->size(), options);
  connections_->set_handler(wire::FrameFamily::message, messenger_->handler());
  connections_->on_returned([this](channel::PeerId peer) {
    if (peer < channel::first_relay_peer) {
      messenger_->peer_returned(peer);
      if (mailbox_) {
        mailbox_->returned(peer);
      }
    }
  });
  member_->on_lost([this](channel::PeerId peer, const Status& why) { heard_of_loss(peer, why); },
                   [this](channel::PeerId peer) { return connections_->still_sends(peer); });
  const auto& program = member_->programs()[static_cast<std::size_t>(member_->program())];
  COUPLET_TRY_VALUE(own_program_, messenger_->groups().add_program(program.name, program.first_rank, program.size));
  return {};
}

namespace {

// While this process waits for anything, MPI moves what the other ranks of the job read.
class WindowProgress final : public engine::Source {
 public:
  explicit WindowProgress(series::Window& window) : window_(window) {}
  int poll(std::uint64_t /*now_ns*/, int /*budget*/) override {
    window_.progress();
    return 0;
  }
  [[nodiscard]] bool ready() const override { return false; }

 private:
  series::Window& window_;
};

}  // namespace

void Universe::use_window(std::unique_ptr<series::Window> window) {
  window_ = std::move(window);
  environment_->set_window(window_.get());
  window_progress_ = std::make_unique<WindowProgress>(*window_);
  engine_->add(*window_progress_, engine::Rate::often);
  engine_->limit_sleep(window_nap_ns);
}

// Keeps this rank's part of the window, which other ranks may still read, until they leave, too.
Status Universe::end_window() {
  if (!window_) {
    return {};
  }
  Status ended;
  const auto over = [&] {
    auto all = window_->end();
    ended = all.status();
    return !ended.ok() || *all;
  };
  const Status waited =
      engine_->wait(over, os::never, [] { return std::string("the other ranks of the MPI job to leave"); });
  engine_->remove(*window_progress_);
  environment_->set_window(nullptr);
  window_progress_.reset();
  window_.reset();
  return waited.ok() ? ended : waited;
}

Universe::~Universe() {
  // A window that is still there shows that the universe was never left. MPI may be gone already, so the window is not
  // freed, and the other ranks can still read it.
  if (window_) {
    engine_->remove(*window_progress_);
    static_cast<void>(window_.release());
  }
  environment_.reset();
  areas_.reset();
  if (member_) {
    static_cast<void>(member_->attach(nullptr));
  }
  relay_start_.reset();
  // Channels end before the objects that take their frames.
  connections_.reset();
  node_relay_.reset();
  remote_.reset();
  // Channels also end before the memory that they receive into.
  messenger_.reset();
  mailbox_.reset();
  engine_.reset();
}

Result<std::unique_ptr<series::Writer>> Universe::create_series(
    message::Group& group, const series::WriterSpecification& specification, const series::WriterOptions& options,
    std::uint64_t deadline_ns, std::unique_ptr<message::Team>& team, const Status& refusal) {
  COUPLET_TRY_VALUE(team, reading_team(group, specification.name, false));
  COUPLET_TRY_VALUE(auto writer,
                    series::Writer::create(*environment_, *team, specification, options, deadline_ns, refusal));
  if (const Status started = relay_start_->for_writers(group); !started.ok()) {
    print_note(started.within(fmt::format("series '{}' has no relay for other nodes", specification.name)).text());
  }
  if (!options.collective) {
    team.reset();
  }
  return writer;
}

Result<std::unique_ptr<message::Team>> Universe::reading_team(message::Group& group, const std::string& name,
                                                              bool local) {
  if (local || group.size() == 1) {
    return std::unique_ptr<message::Team>(std::make_unique<message::SoloTeam>());
  }
  COUPLET_TRY_VALUE(auto team, message::MessageTeam::open(*messenger_, group, name));
  return std::unique_ptr<message::Team>(std::move(team));
}

task::Mailbox& Universe::mailbox() {
  if (!mailbox_) {
    task_environment_ = std::make_unique<TaskEnvironment>(*member_, *engine_, *messenger_);
    mailbox_ = std::make_unique<task::Mailbox>(*task_environment_);
  }
  return *mailbox_;
}

task::Areas& Universe::areas() {
  if (!areas_) {
    areas_ = std::make_unique<task::Areas>(mailbox());
  }
  return *areas_;
}

Result<std::unique_ptr<exchange::Exchange>> Universe::create_exchange(message::Group& group, const std::string& name,
                                                                      exchange::ExchangeOptions options,
                                                                      const std::vector<exchange::Maker*>& makers) {
  if (const std::string pinned = member_->setting("exchange.method"); !pinned.empty()) {
    options.method = pinned;
  }
  exchange::Surroundings around;
  around.messenger = messenger_.get();
  around.engine = engine_.get();
  around.run_directory = member_->node_directory();
  around.choice_cache = member_->setting("exchange.cache");
  around.makers = makers;
  around.costs = &environment_->costs().costs;
  around.cost_origin = environment_->costs().origin();
  COUPLET_TRY_VALUE(around.record, exchange_recorder(*member_, print_note));
  return exchange::Exchange::create(around, group, name, options);
}

std::unique_ptr<Readiness> make_readiness(Universe& universe) {
  return std::make_unique<Readiness>(*universe.engine_, universe.member_->doorbell(), *universe.messenger_);
}

std::unique_ptr<collective::Collectives> make_collectives(Universe& universe) {
  const universe::Membership& member = *universe.member_;
  collective::PeerFacts facts;
  facts.system_of = [&member](channel::PeerId peer) { return std::uint32_t{member.peer(peer).node}; };
  facts.has_earlier_life = member.peer(member.id()).incarnation > 0;
  facts.membership.has_left = [&member](channel::PeerId peer) {
    return member.peer(peer).state == universe::PeerState::left;
  };
  facts.membership.incarnation_of = [&member](channel::PeerId peer) { return member.peer(peer).incarnation; };
  const KnownCosts& costs = universe.environment_->costs();
  facts.table = {.pieces = cost::method_pieces(costs.costs), .origin = costs.origin()};
  return std::make_unique<collective::Collectives>(*universe.messenger_, universe.engine_.get(), std::move(facts));
}

Status Universe::progress() {
  static_cast<void>(member_->catch_up(universe::CatchUp::come_back));
  engine_->poll();
  return {};
}

// The window ends last, since that waits for the other ranks of the job: those that wait for this one are told first
// that it has left.
Status Universe::leave() {
  // No other process will send what is left.
  if (node_relay_) {
    auto& server = node_relay_->server();
    static_cast<void>(engine_->wait([&] { return server.told_all(); }, os::deadline_after(push_timeout_s),
                                    [] { return "readers on other nodes to be sent everything"; }));
  }
  if (relay_start_) {
    static_cast<void>(engine_->wait([this] { return !relay_start_->awaited(); }, os::deadline_after(relay_timeout_s),
                                    [] { return "the relay of this node to come"; }));
    relay_start_.reset();
  }
  Status flushed;
  connections_->shut(leave_patience_ns, [&](engine::PeerPatience& patience) { flushed = messenger_->flush(patience); });
  // This time counts from here, however long the peers have taken.
  Status left = member_->leave(os::deadline_after(leave_timeout_s));
  const Status window_ended = end_window();
  if (!window_ended.ok()) {
    return window_ended.within("leaving the window of the MPI job");
  }
  if (flushed.ok() || (flushed.code() == Code::interrupted && !left.ok())) {
    return left;
  }
  return flushed.code() == Code::interrupted ? flushed : flushed.within("leaving with messages that could not be sent");
}

}  // namespace couplet::runtime
