#include "relay/subscription.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "layout/pack.hpp"
#include "series/hold.hpp"

namespace couplet::relay {

using wire::RelayKind;

namespace {

// Returns a frame that is free, if not too many are under way; else the end.
template <typename Frames>
auto find_free(Frames& frames, const SentShare& share) {
  const auto is_free = [](const auto& frame) { return frame.free; };
  const auto free_frames = static_cast<std::size_t>(std::count_if(frames.begin(), frames.end(), is_free));
  const bool enough = !share.whole() && frames.size() - free_frames >= Subscription::max_frames_of_share;
  return enough ? frames.end() : std::find_if(frames.begin(), frames.end(), is_free);
}

// Returns the first ordinal from `ordinal` on that the reader wants. A reader asks for a share, or for one of several
// steps, but not for both.
std::uint64_t first_wanted(std::uint64_t ordinal, const CommonSteps* common, const SentShare& share,
                           const series::NeededSteps& needed) {
  for (std::uint64_t before = UINT64_MAX; before != ordinal;) {
    before = ordinal;
    ordinal = needed.first(common != nullptr ? common->first_wanted(ordinal) : ordinal);
  }
  while (!share.has(ordinal)) {
    ++ordinal;
  }
  return ordinal;
}

}  // namespace

Status Subscription::accept(std::shared_ptr<ServedFile> served, const std::vector<series::FieldSelection>& selections,
                            std::uint64_t first, std::uint64_t window) {
  const auto& fields = served->file->geometry().fields;
  // A step is sent as it is stored in a slot of the reader.
  wire::SeriesGeometry sent;
  sent.slot_count = 1;
  sent.fields = series::cut_fields(fields, selections);
  COUPLET_TRY(wire::place_series(sent));
  for (std::size_t index = 0; index < selections.size(); ++index) {
    const auto& field = fields[selections[index].field];
    std::uint64_t source = field.offset_bytes;
    std::uint64_t target = sent.fields[index].offset_bytes;
    for (const auto& box : series::boxes_of(field)) {
      for (const auto& wanted : selections[index].boxes) {
        if (const auto common = layout::intersect(box, wanted)) {
          Piece piece{target, layout::plan_copy(box, *common, field.element_bytes)};
          piece.plan.source_offset += source;
          target += piece.plan.bytes();
          pieces_.push_back(piece);
        }
      }
      source += box.elements() * field.element_bytes;
    }
  }
  served_ = std::move(served);
  step_bytes_ = sent.step_bytes;
  first_ = next_ = first;
  limit_ = progress_.credit = first + window;
  return {};
}

void Subscription::hold(std::shared_ptr<ServedFile> served, const series::Hold& hold) {
  served_ = std::move(served);
  hold_ = hold;
}

void Subscription::give_up() {
  if (hold_.taken()) {
    series::give_up_hold(*served_->file, hold_);
    hold_ = {};
  }
}

void Subscription::set_pace(Pace pace, std::shared_ptr<CommonSteps> common, std::uint64_t jump_window) {
  pace_ = pace;
  progress_.jump_window = jump_window;
  common_ = std::move(common);
  if (common_) {
    common_->join(*this);
  }
}

void Subscription::end() {
  over_ = true;
  if (common_) {
    std::exchange(common_, nullptr)->leave(*this);
  }
}

Status Subscription::credit(std::uint64_t limit, std::uint64_t consumed, const wire::WantedSteps& wanted) {
  if (limit < progress_.credit) {
    return fail(Code::protocol, "a credit up to ordinal {} was reduced to {}", progress_.credit, limit);
  }
  if (consumed > wire::largest_ordinal) {
    return fail(Code::protocol, "ordinals below {} are not needed; at most {} is right", consumed,
                wire::largest_ordinal);
  }
  progress_.credit = limit;
  limit_ = std::max(limit_, limit);
  if (pace_ == Pace::follow) {
    progress_.share.ask_for(wanted.share);
  }
  progress_.needed = {consumed, wanted.every};
  if (const std::uint64_t next = progress_.needed.first(next_); offset_ == 0 && next > next_) {
    // The reader does not want the steps in between.
    const std::uint64_t before = std::exchange(next_, next);
    if (common_) {
      common_->moved(before);
    }
  } else if (common_ && consumed > next_) {
    common_->leave_out(next_, consumed);  // push_piece() ends the step that is being sent
  }
  if (hold_.taken()) {
    // due() reports if the hold was released.
    static_cast<void>(series::consume(*served_->file, hold_, consumed));
  }
  return {};
}

// ---- what is due ----

bool Subscription::has_step() const {
  const std::uint64_t there = served_->published();
  if (over_ || !told_accepted_ || next_ >= limit_ || next_ >= there) {
    return false;
  }
  return offset_ > 0 || served_->ended() || !progress_.share.keeps(next_, there, limit_, progress_.needed);
}

Subscription::Due Subscription::due() const {
  if (over_) {
    return Due::nothing;
  }
  if (!refusal_.ok()) {
    return Due::refusal;
  }
  if (!told_accepted_) {
    return Due::acceptance;
  }
  if (hold_.taken() && !told_evicted_ && series::look_at_hold(*served_->file, hold_) != series::HoldState::held) {
    return Due::eviction;
  }
  const bool last = served_->ended();
  const std::uint64_t there = served_->published();
  if (next_ < there) {
    if (has_step()) {
      return common_ && offset_ == 0 && common_->others_first(next_) ? Due::nothing : Due::step;
    }
    return told_published_ < limit_ && told_published_ < there ? Due::news : Due::nothing;
  }
  return last && !told_end_ ? Due::end : Due::nothing;
}

bool Subscription::waits() const {
  return !over_ && refusal_.ok() && told_accepted_ && !told_end_ && next_ < limit_ && !has_step();
}

bool Subscription::ready() const {
  return find_free(frames_, progress_.share) != frames_.end() && due() != Due::nothing;
}

bool Subscription::push() {
  const Due what = due();
  const auto frame = find_free(frames_, progress_.share);
  if (what == Due::nothing || frame == frames_.end()) {
    return false;
  }
  switch (what) {
    case Due::refusal:
      push_refusal(*frame);
      break;
    case Due::acceptance:
      push_acceptance(*frame);
      break;
    case Due::eviction:
      told_evicted_ = true;
      send(*frame, RelayKind::evicted, 0, 0, 0, 0);
      break;
    case Due::step:
      push_piece(*frame);
      break;
    case Due::news:
      told_published_ = served_->published();
      send(*frame, RelayKind::news, told_published_, 0, 0, 0);
      break;
    case Due::end: {
      told_end_ = true;
      const bool good = served_->file->control().published.closed.load(std::memory_order_acquire) != 0;
      send(*frame, RelayKind::ended, served_->published(), 0, good ? 0 : 1, 0);
      break;
    }
    case Due::nothing:
      break;
  }
  return true;
}

// ---- frames ----

void Subscription::send(Frame& frame, RelayKind kind, std::uint64_t first, std::uint64_t second, std::int32_t tag,
                        std::size_t bytes) {
  frame.free = false;
  frame.outgoing.header = {};
  frame.outgoing.header.kind = wire::relay_frame_kind(kind);
  frame.outgoing.header.context = number_;
  frame.outgoing.header.first = first;
  frame.outgoing.header.second = second;
  frame.outgoing.header.tag = tag;
  frame.outgoing.payload = std::span<const std::byte>(frame.memory).first(bytes);
  frame.outgoing.owner = &frame;
  frame.subscription = this;
  frame.outgoing.finished = [](channel::Outgoing& outgoing, const Status&) {
    auto* const done = static_cast<Frame*>(outgoing.owner);
    done->free = true;
    done->subscription->activation_.activate(*done->subscription);
  };
  channel_.send(frame.outgoing);
}

void Subscription::push_refusal(Frame& frame) {
  const std::string text = refusal_.text().substr(0, wire::longest_relay_text);
  const auto bytes = std::as_bytes(std::span(text));
  frame.memory.assign(bytes.begin(), bytes.end());
  over_ = true;
  send(frame, RelayKind::refused, 0, 0, static_cast<std::int32_t>(refusal_.code()), bytes.size());
}

void Subscription::push_acceptance(Frame& frame) {
  told_accepted_ = true;
  told_published_ = std::max(served_->published(), first_);
  frame.memory.resize(wire::accepted_bytes);
  const auto incarnation = static_cast<std::uint16_t>(served_->file->geometry().writer_incarnation);
  wire::encode_accepted({std::endian::native == std::endian::big, told_published_, step_bytes_, incarnation},
                        std::span(frame.memory).first<wire::accepted_bytes>());
  send(frame, RelayKind::accepted, first_, 0, 0, wire::accepted_bytes);
}

// Sends, before the first piece, the step's number, and its time if it has one. Returns false if the frame is used for
// that.
bool Subscription::begin_step(Frame& frame) {
  const auto label = series::read_label(served_->file->slot_header(next_), next_);
  if (!label) {
    push_lost(frame, false);
    return false;
  }
  step_ = label->step;
  if (label->time_bits == wire::no_time || timed_ == next_) {
    return true;
  }
  timed_ = next_;
  send(frame, RelayKind::time, next_, label->time_bits, 0, 0);
  return false;
}

// Packs the bytes [offset_, offset_ + bytes) of the step. The bytes between the boxes are 0.
void Subscription::pack(std::byte* target, std::uint64_t bytes) const {
  const std::byte* const slot = served_->file->slot(next_);
  std::uint64_t at = offset_;
  const std::uint64_t end = offset_ + bytes;
  for (const Piece& piece : pieces_) {
    const std::uint64_t stop = piece.offset_bytes + piece.plan.bytes();
    if (stop <= at || piece.offset_bytes >= end) {
      continue;
    }
    if (piece.offset_bytes > at) {
      std::memset(target + (at - offset_), 0, piece.offset_bytes - at);
      at = piece.offset_bytes;
    }
    const std::uint64_t taken = std::min(stop, end) - at;
    layout::pack_racing(piece.plan, target + (at - offset_), slot, at - piece.offset_bytes, taken,
                        layout::CopyMethod::cached);
    at += taken;
  }
  if (at < end) {
    std::memset(target + (at - offset_), 0, end - at);
  }
}

// Leaves out steps that would be overwritten while they are sent. The number of steps that the writer publishes while
// one is sent says how far ahead of the writer's slot a step must be to arrive whole. The margin follows that number at
// once if it grows, and slowly if it shrinks. Of the subscriptions of one reader the first one that would lose a step
// decides for all, and chooses a step that all of their writers have.
std::uint64_t Subscription::safe_next() {
  if (pace_ == Pace::every_step) {
    return next_;
  }
  const std::uint64_t margin = std::min(progress_.margin, served_->file->slots() - 1);
  const bool ended = served_->ended();  // such a writer overwrites nothing
  CommonSteps::Retained there{served_->oldest(), served_->published()};
  progress_.published_at_begin = there.published;
  if (const std::uint64_t wanted = first_wanted(next_, common_.get(), progress_.share, progress_.needed);
      wanted > next_) {
    const bool keep = !ended && progress_.share.first(next_, progress_.needed) >= there.published;
    return std::min(wanted, keep ? there.published - 1 : there.published);
  }
  if (pace_ == Pace::follow && (ended || next_ >= there.oldest + margin / 2)) {
    return next_;
  }
  std::uint64_t most = UINT64_MAX;
  if (common_) {
    const CommonSteps::Retained common = common_->retained();
    there = common.oldest < common.published ? common : there;
    most = common_->begun_from(next_, *this);
  }
  const std::uint64_t newest = there.published - 1;
  if (!progress_.share.whole()) {  // what is left out by the share gives time; a short jump is enough
    const std::uint64_t end = there.oldest + margin / 2 + 1;
    const std::uint64_t wanted = first_wanted(end, common_.get(), progress_.share, progress_.needed);
    return std::max(next_, std::min({wanted <= newest ? wanted : std::min(end, newest), most}));
  }
  const std::uint64_t safe =
      pace_ == Pace::latest ? progress_.needed.last(newest) : std::min(there.oldest + margin, newest);
  return std::max(next_, std::min(safe, most));
}

// Credit is given for ordinals near those that have arrived. If a jump goes beyond them, the subscription waits for
// credit, and when that comes, the writer may have overwritten the step again. So, if no step was sent since it last
// waited, the window moves with the jump: once for each credit, since a reader that makes no calls must not be sent one
// step after the other. Otherwise more steps would be under way than the link carries.
void Subscription::leave_out(Frame& frame, std::uint64_t end, bool torn) {
  const std::uint64_t begin = std::exchange(next_, progress_.needed.first(end));
  offset_ = 0;
  if (next_ >= limit_) {
    const bool starved = std::exchange(progress_.steps_at_wait, pushed.steps) == pushed.steps;
    if (starved && progress_.jump_window > 0 && begin < progress_.credit) {
      limit_ = next_ + progress_.jump_window;
    }
  }
  if (common_) {
    common_->leave_out(begin, end);
    common_->moved(begin);
  }
  send(frame, RelayKind::lost, begin, end, torn ? 1 : 0, 0);
}

// Sends the next piece of step next_. It is packed out of its slot, and sent only if the slot still belongs to that
// step.
void Subscription::push_piece(Frame& frame) {
  const std::uint64_t next = offset_ == 0 ? safe_next() : common_ ? common_->first_wanted(next_) : next_;
  if (next > next_) {
    leave_out(frame, std::min(next, served_->published()));
    return;
  }
  const auto& header = served_->file->slot_header(next_);
  if (offset_ == 0 && !begin_step(frame)) {
    return;
  }
  const std::uint64_t room = std::min<std::uint64_t>(piece_bytes_, channel_.traits().largest_payload);
  const std::uint64_t bytes = std::min(room, step_bytes_ - offset_);
  if (frame.memory.size() < bytes) {
    frame.memory.resize(bytes);
  }
  pack(frame.memory.data(), bytes);
  if (!series::end_read(header, next_)) {
    push_lost(frame, true);
    return;
  }
  const std::uint64_t offset = offset_;
  const std::uint64_t ordinal = next_;
  pushed.bytes += bytes;
  if (offset + bytes < step_bytes_) {
    offset_ += bytes;
    send(frame, RelayKind::piece, ordinal, offset, 0, bytes);
    return;
  }
  offset_ = 0;
  next_ = progress_.needed.first(ordinal + 1);
  ++pushed.steps;
  const std::uint64_t there = served_->published();
  told_published_ = there;
  const std::uint64_t meanwhile = there - std::min(there, progress_.published_at_begin);
  progress_.margin = std::max(2 * meanwhile + 1, progress_.margin - progress_.margin / 8);
  if (common_) {
    common_->moved(ordinal);
  }
  send(frame, RelayKind::step, ordinal, static_cast<std::uint64_t>(step_),
       static_cast<std::int32_t>(std::min<std::uint64_t>(there - std::min(there, ordinal + 1), INT32_MAX)), bytes);
}

// The step next_ is gone, and so are all that the writer has claimed after it.
void Subscription::push_lost(Frame& frame, bool torn) {
  // The distance to the writer was too small.
  progress_.margin = std::min(2 * progress_.margin + 1, served_->file->slots());
  leave_out(frame, torn ? next_ + 1 : std::max(next_ + 1, std::min(served_->oldest(), served_->published())), torn);
}

}  // namespace couplet::relay
