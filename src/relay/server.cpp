#include "relay/server.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/assert.hpp"
#include "base/counted.hpp"
#include "os/clock.hpp"
#include "os/error.hpp"
#include "series/hold.hpp"

namespace couplet::relay {

using wire::RelayKind;

namespace {

constexpr int take_budget = 16;
// Number of frames that one subscription sends before the next one has its turn.
constexpr int turns_each = 4;
// Number of ticks until files of superseded incarnations, which were still in use, are checked again.
constexpr unsigned ticks_between_tidying = 10;
constexpr std::size_t max_deferred_frames = 4096;

// Returns true if the code means that this process has no memory or descriptor left, which may pass.
bool is_shortage(Code code) noexcept {
  return code == Code::limit || code == Code::memory;
}

// Releases a hold that an earlier relay has taken for this subscription.
void release_leftover(series::SeriesFile& file, const series::Owner& owner, std::uint32_t number) {
  for (std::uint32_t index = 0; index < file.reader_entries(); ++index) {
    const auto& entry = file.readers()[index];
    const auto seen = series::owner_of(entry);
    const std::uint32_t of = entry.subscription.load(std::memory_order_relaxed);
    const bool taken = seen.state != wire::ReaderState::free && seen.state != wire::ReaderState::reserved;
    if (taken && seen.peer == owner.peer && seen.incarnation == owner.incarnation && (of == number || of == 0)) {
      series::give_up_hold(file, {static_cast<int>(index), seen});
    }
  }
}

// Returns what is wanted, if the file has such fields, each at most once.
Result<std::vector<series::FieldSelection>> selections_of(const wire::Subscribe& selection,
                                                          const wire::SeriesGeometry& geometry) {
  std::vector<series::FieldSelection> selections;
  for (const auto& each : selection.fields) {
    if (each.field >= geometry.fields.size()) {
      return fail(Code::shape, "the series has {}, and none with number {}", counted(geometry.fields.size(), "field"),
                  each.field);
    }
    const auto twice = std::any_of(selections.begin(), selections.end(),
                                   [&](const series::FieldSelection& other) { return other.field == each.field; });
    if (twice) {
      return fail(Code::shape, "field number {} is requested twice", each.field);
    }
    series::FieldSelection& one = selections.emplace_back();
    one.field = each.field;
    const std::size_t dimensions = each.start.size() / each.boxes;
    for (std::size_t at = 0; at < each.start.size(); at += dimensions) {
      layout::Box& box = one.boxes.emplace_back();
      box.dimensions = static_cast<int>(dimensions);
      std::copy_n(&each.start[at], dimensions, box.start.begin());
      std::copy_n(&each.stop[at], dimensions, box.stop.begin());
      COUPLET_TRY(layout::check_inside(box, geometry.fields[each.field].shape, "the box"));
    }
  }
  return selections;
}

// Returns what the subscriptions of a reader share.
std::shared_ptr<CommonSteps> common_steps(std::map<std::uint32_t, std::weak_ptr<CommonSteps>>& readers,
                                          std::uint32_t reader, Activation& activation) {
  const auto known = readers.find(reader);
  if (auto common = known == readers.end() ? nullptr : known->second.lock()) {
    return common;
  }
  std::erase_if(readers, [](const auto& entry) { return entry.second.expired(); });
  auto common = std::make_shared<CommonSteps>(activation);
  readers[reader] = common;
  return common;
}

}  // namespace

Result<std::unique_ptr<Server>> Server::open(ServerHost& host, const ServerOptions& options) {
  std::unique_ptr<Server> server(new Server(host, options));
  if (options.watch) {
    const int number = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (number < 0) {
      return os::system_failure(errno, "cannot make an eventfd");
    }
    server->bell_ = os::Descriptor(number);
    COUPLET_TRY_VALUE(server->watch_, series::PublicationWatch::open(server->bell_));
  }
  return server;
}

Server::~Server() {
  for (const auto& [channel, own] : subscriptions_) {
    for (const auto& [number, subscription] : own.numbered) {
      subscription->end();
    }
  }
}

// ---- sending ----

int Server::poll(int budget) {
  if (bell_) {
    std::uint64_t rung = 0;
    static_cast<void>(!::read(bell_.number(), &rung, sizeof rung));
  }
  look_at_files();
  int work = 0;
  while (!active_.empty() && work < budget) {
    Subscription& subscription = *active_.front();
    active_.pop_front();
    subscription.active = false;
    work += push(subscription);
    if (subscription.over()) {
      retire(subscription);
    }
  }
  sweep();
  return work;
}

int Server::push(Subscription& subscription) {
  const Pushed before = subscription.pushed;
  int moved = 0;
  while (moved < turns_each && subscription.push()) {
    ++moved;
  }
  pushed_.steps += subscription.pushed.steps - before.steps;
  pushed_.bytes += subscription.pushed.bytes - before.bytes;
  if (moved == turns_each) {
    activate(subscription);
    // It waits for news, credit, or a free frame.
  } else if (!subscription.over() && subscription.served()) {
    subscription.served()->idle.insert(&subscription);
    if (watch_ && subscription.waits()) {
      watch_->ask(subscription.served()->file, std::max(subscription.next(), subscription.served()->published()) + 1);
    }
  }
  return moved;
}

void Server::activate(Subscription& subscription) {
  if (!subscription.active && !subscription.over()) {
    subscription.active = true;
    active_.push_back(&subscription);
  }
}

void Server::look_at_files() {
  for (const auto& [name, served] : files_) {
    const ServedFile::News now = served->news();
    if (now != served->seen) {
      served->seen = now;
      for (Subscription* const subscription : served->idle) {
        activate(*subscription);
      }
      served->idle.clear();
    }
  }
}

void Server::take_credit() {
  // Subscriptions may come and go meanwhile.
  std::vector<channel::Channel*> channels;
  channels.reserve(subscriptions_.size());
  for (const auto& [channel, own] : subscriptions_) {
    channels.push_back(&own.numbered.begin()->second->channel());
  }
  for (channel::Channel* const channel : channels) {
    if (subscriptions_.contains(channel)) {
      channel->poll(take_budget);
    }
  }
}

void Server::add(std::unique_ptr<Subscription> subscription) {
  activate(*subscription);
  auto& place = subscriptions_[&subscription->channel()].numbered[subscription->number()];
  COUPLET_ASSERT(!place);
  place = std::move(subscription);
  ++count_;
}

void Server::retire(Subscription& subscription) {
  if (subscription.active) {
    std::erase(active_, &subscription);
  }
  if (subscription.served()) {
    subscription.served()->idle.erase(&subscription);
  }
  const auto found = subscriptions_.find(&subscription.channel());
  auto node = found->second.numbered.extract(subscription.number());
  ending_.push_back(std::move(node.mapped()));
  --count_;
  if (found->second.numbered.empty()) {
    subscriptions_.erase(found);
  }
}

void Server::sweep() {
  if (ending_.empty()) {
    return;
  }
  const std::size_t gone = std::erase_if(ending_, [](const auto& subscription) {
    if (!subscription->finished()) {
      return false;
    }
    subscription->give_up();
    return true;
  });
  if (gone > 0) {
    forget_files();
  }
}

void Server::forget_files() {
  std::set<std::string> series;
  std::erase_if(files_, [&](const auto& entry) {
    const bool unused = entry.second.use_count() == 1;
    if (unused) {
      series.insert(entry.second->file->geometry().name);
    }
    return unused;
  });
  for (const auto& name : series) {
    superseded_.look(host_.node_directory(), name, 0, lives_);
  }
}

bool Server::ready() const {
  return !active_.empty() || std::any_of(files_.begin(), files_.end(), [](const auto& entry) {
    return !entry.second->idle.empty() && entry.second->news() != entry.second->seen;
  }) || std::any_of(ending_.begin(), ending_.end(), [](const auto& subscription) { return subscription->finished(); });
}

bool Server::told_all() const {
  return waiting_.frames.empty() && std::all_of(subscriptions_.begin(), subscriptions_.end(), [](const auto& item) {
           return !item.first->queued() &&
                  std::all_of(item.second.numbered.begin(), item.second.numbered.end(),
                              [](const auto& numbered) { return numbered.second->told_all(); });
         });
}

void Server::tick() {
  for (const auto& [name, served] : files_) {
    if (!served->writer_gone) {
      const auto& geometry = served->file->geometry();
      served->writer_gone =
          !host_.alive(geometry.writer_peer, static_cast<std::uint16_t>(geometry.writer_incarnation)).ok();
    }
    // Its hold may have been released.
    for (Subscription* const subscription : served->idle) {
      if (subscription->ready()) {
        activate(*subscription);
      }
    }
  }
  look_at_waiting();
}

void Server::look_at_waiting() {
  waiting_.retry(*this);
  const std::size_t ended = std::erase_if(waiting_.holds, [&](const LeftHold& left) {
    auto& file = *left.served->file;
    const bool stands = series::look_at_hold(file, left.hold) == series::HoldState::held;
    if (stands && (host_.hub_is_away() || !host_.alive(left.hold.owner.peer, left.hold.owner.incarnation).ok())) {
      series::give_up_hold(file, left.hold);
      return true;
    }
    return !stands;
  });
  if (ended > 0) {
    forget_files();
  }
  if (superseded_.any_left() && ++ticks_ % ticks_between_tidying == 0) {
    superseded_.look_again(host_.node_directory(), lives_);
  }
}

// ---- frames ----

Subscription* Server::find(const channel::Channel& channel, std::uint32_t number) const {
  const auto of_channel = subscriptions_.find(&channel);
  if (of_channel == subscriptions_.end()) {
    return nullptr;
  }
  const auto found = of_channel->second.numbered.find(number);
  return found == of_channel->second.numbered.end() ? nullptr : found->second.get();
}

Status Server::arrived(channel::Channel& channel, const wire::FrameHeader& header, std::span<const std::byte> payload) {
  Subscription* const known = find(channel, header.context);
  switch (wire::relay_kind_of(header)) {
    case RelayKind::subscribe:
      if (header.context == 0) {
        return fail(Code::protocol, "a subscription must not have number 0");
      }
      if (known != nullptr) {
        return fail(Code::protocol, "a second subscription with number {}", header.context);
      }
      subscribe(channel, header.context, wire::decode_subscribe(payload));
      return {};
    case RelayKind::credit: {
      if (known == nullptr) {
        return {};
      }
      COUPLET_TRY_VALUE(const auto wanted, wire::decode_wanted(header.tag));
      activate(*known);
      return known->credit(header.first, header.second, wanted);
    }
    case RelayKind::unsubscribe:
      waiting_.forget(channel, header.context);
      if (known != nullptr) {
        known->give_up();
        known->end();
        retire(*known);
      }
      return payload.empty() ? Status() : end_hold(channel, header.context, wire::decode_subscribe(payload));
    default:
      return fail(Code::protocol, "kind 0x{:02x}, which no reader sends to a relay", header.kind);
  }
}

// The reader may be alive, and continue over another connection. Its holds stay valid, as if the relay itself had been
// killed.
void Server::lost(channel::Channel& channel) {
  waiting_.forget(channel);
  const auto found = subscriptions_.find(&channel);
  std::vector<Subscription*> lost;
  if (found != subscriptions_.end()) {
    for (const auto& [number, subscription] : found->second.numbered) {
      lost.push_back(subscription.get());
    }
  }
  for (Subscription* const subscription : lost) {
    if (subscription->hold().taken()) {
      waiting_.holds.push_back({subscription->served(), subscription->leave_hold()});
    }
    subscription->end();
    retire(*subscription);
  }
  // Every frame has been given back, so the channel may end.
  sweep();
}

// ---- subscribing ----

bool Server::Waiting::defer(Deferred frame) {
  if (frames.size() >= max_deferred_frames) {
    return false;
  }
  frames.push_back(std::move(frame));
  return true;
}

// If one of them finds no memory, those that were not carried out stay.
void Server::Waiting::retry(Server& server) {
  std::size_t place = 0;
  for (std::size_t count = frames.size(); count > 0 && place < frames.size(); --count) {
    const Deferred frame = frames[place];
    if (is_shortage(server.serve(frame.selection.file).code())) {
      ++place;
      continue;
    }
    if (!frame.subscribes) {
      static_cast<void>(server.end_hold(*frame.channel, frame.number, frame.selection));
    } else if (server.find(*frame.channel, frame.number) == nullptr) {
      server.subscribe(*frame.channel, frame.number, frame.selection);
    }
    const auto done = std::find_if(frames.begin(), frames.end(), [&](const Deferred& one) {
      return one.channel == frame.channel && one.number == frame.number && one.subscribes == frame.subscribes;
    });
    if (done != frames.end()) {  // its channel may be lost by now
      frames.erase(done);
    }
  }
}

void Server::Waiting::forget(const channel::Channel& channel, std::optional<std::uint32_t> number) {
  std::erase_if(
      frames, [&](const Deferred& frame) { return frame.channel == &channel && (!number || frame.number == *number); });
}

Result<std::shared_ptr<ServedFile>> Server::serve(const std::string& name) {
  const auto found = files_.find(name);
  if (found != files_.end()) {
    return found->second;
  }
  COUPLET_TRY_VALUE(auto file, series::SeriesFile::open(host_.node_directory() + "/" + name));
  auto served = std::make_shared<ServedFile>();
  served->file = std::move(file);
  served->seen = served->news();
  files_[name] = served;
  return served;
}

void Server::subscribe(channel::Channel& channel, std::uint32_t number, Result<wire::Subscribe> selection) {
  Activation& activation = *this;
  auto subscription = std::make_unique<Subscription>(activation, channel, number, options_.piece_bytes);
  Status status = selection.status();
  if (status.ok()) {
    if (Status served = serve(selection->file).status(); is_shortage(served.code())) {
      if (selection->again && waiting_.defer({&channel, number, *selection, true})) {
        return;
      }
      status = served.within("the relay");
    }
  }
  if (status.ok() && subscriptions() >= options_.most_subscriptions) {
    status = fail(Code::limit, "the relay has {} subscribers already", subscriptions());
  }
  if (status.ok()) {
    status = begin(*subscription, *selection);
  }
  if (!status.ok()) {
    subscription->give_up();
    subscription->refuse(std::move(status));
  }
  add(std::move(subscription));
}

Status Server::begin(Subscription& subscription, const wire::Subscribe& selection) {
  COUPLET_TRY_VALUE(const auto served, serve(selection.file));
  const auto& file = *served->file;
  const std::uint64_t incarnation = file.control().claimed.incarnation.load(std::memory_order_acquire);
  // The hub's register may have the incarnation before it is written to the file.
  const bool announced = incarnation != UINT64_MAX;
  if (file.geometry().name != selection.series || (announced && incarnation != selection.series_incarnation)) {
    return fail(Code::protocol, "{} is not the file of series '{}', incarnation {}", selection.file, selection.series,
                selection.series_incarnation);
  }
  COUPLET_TRY_VALUE(const auto selections, selections_of(selection, file.geometry()));
  COUPLET_TRY_VALUE(const std::uint64_t first, start(subscription, selection, served));
  COUPLET_TRY(subscription.accept(served, selections, first, selection.window));
  if (static_cast<series::Mode>(selection.mode) == series::Mode::follow) {
    auto& readers = subscriptions_[&subscription.channel()].readers;
    subscription.set_pace(selection.latest ? Subscription::Pace::latest : Subscription::Pace::follow,
                          selection.reader != 0 ? common_steps(readers, selection.reader, *this) : nullptr,
                          selection.jumps ? selection.window : 0);
  }
  return {};
}

// Ends a hold that the reader may have had through a relay that was lost.
Status Server::end_hold(channel::Channel& channel, std::uint32_t number, const Result<wire::Subscribe>& selection) {
  COUPLET_TRY(selection.status());
  {
    const auto served = serve(selection->file);
    if (is_shortage(served.code()) && !waiting_.defer({&channel, number, *selection, false})) {
      return served.status().within("the relay");  // the channel ends, and the reader says it again over the next one
    }
    if (!served.ok() && served.code() != Code::not_found) {
      return {};
    }
    if (served.ok()) {
      release_leftover(*(*served)->file, {.peer = channel.peer(), .incarnation = selection->incarnation}, number);
    }
  }
  forget_files();
  wire::FrameHeader answer;
  answer.kind = wire::relay_frame_kind(RelayKind::unsubscribed);
  answer.context = number;
  posts_.send(channel, answer);
  return {};
}

// Takes the hold, if the reader wants one, and finds the first ordinal.
Result<std::uint64_t> Server::start(Subscription& subscription, const wire::Subscribe& selection,
                                    const std::shared_ptr<ServedFile>& served) {
  auto& file = *served->file;
  const auto from = static_cast<series::From>(selection.from);
  const bool holds = static_cast<series::Mode>(selection.mode) == series::Mode::hold;
  if (selection.again && holds) {
    return go_on(subscription, selection, served);
  }
  std::uint64_t first = selection.again ? selection.next : series::wanted_start(file, from);
  if (holds) {
    const series::Owner owner{.peer = subscription.channel().peer(), .incarnation = selection.incarnation};
    release_leftover(file, owner, subscription.number());
    const series::Hold hold = series::take_hold_entry(file, owner, selection.program, lives_);
    if (!hold.taken()) {
      return fail(Code::limit, "it has {} already, more do not fit (setting series.{}.holders)",
                  counted(file.reader_entries(), "holder"), file.geometry().name);
    }
    file.readers()[hold.entry].subscription.store(subscription.number(), std::memory_order_relaxed);
    subscription.hold(served, hold);
    COUPLET_TRY_VALUE(first, series::hold_from(file, hold, selection.program, from));
    if (from == series::From::step) {
      first = series::find_step(file, first, selection.from_step);
      static_cast<void>(series::consume(file, hold, first));  // the writer need not keep the steps below it
    }
    return first;
  }
  return from == series::From::step && !selection.again ? series::find_step(file, first, selection.from_step) : first;
}

// Continues with the hold that this reader had through a relay that is gone. It is still valid, since the writer checks
// the reader, not the relay.
Result<std::uint64_t> Server::go_on(Subscription& subscription, const wire::Subscribe& selection,
                                    const std::shared_ptr<ServedFile>& served) {
  auto& file = *served->file;
  const channel::PeerId peer = subscription.channel().peer();
  for (std::uint32_t index = 0; index < file.reader_entries(); ++index) {
    const auto& entry = file.readers()[index];
    const auto owner = series::owner_of(entry);
    if (owner.peer == peer && owner.incarnation == selection.incarnation && owner.state == wire::ReaderState::holding &&
        entry.subscription.load(std::memory_order_relaxed) == subscription.number()) {
      subscription.hold(served, {static_cast<int>(index), owner});
      return selection.next;
    }
  }
  return fail(Code::evicted, "the hold of {} is gone", host_.peer_name(peer));
}

}  // namespace couplet::relay
