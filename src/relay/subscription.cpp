#include "relay/subscription.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "layout/pack.hpp"
#include "series/hold.hpp"

namespace couplet::relay {

using wire::RelayKind;

Status Subscription::accept(std::shared_ptr<ServedFile> served, const std::vector<series::FieldWish>& wishes,
                            std::uint64_t first, std::uint64_t window) {
  const auto& fields = served->file->geometry().fields;
  // A step is sent as it is stored in a slot of the reader.
  wire::SeriesGeometry sent;
  sent.slot_count = 1;
  sent.fields = series::cut_fields(fields, wishes);
  COUPLET_TRY(wire::place_series(sent));
  for (std::size_t index = 0; index < wishes.size(); ++index) {
    const auto& field = fields[wishes[index].field];
    std::uint64_t source = field.offset_bytes;
    std::uint64_t target = sent.fields[index].offset_bytes;
    for (const auto& box : series::boxes_of(field)) {
      for (const auto& wanted : wishes[index].boxes) {
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
  limit_ = first + window;
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

Status Subscription::credit(std::uint64_t limit, std::uint64_t consumed) {
  if (limit < limit_) {
    return fail(Code::protocol, "credit that goes back, from {} to {}", limit_, limit);
  }
  limit_ = limit;
  if (offset_ == 0 && consumed > next_) {
    // The reader does not want the steps in between.
    next_ = consumed;
  }
  if (hold_.taken()) {
    // Due() reports if the hold was released.
    static_cast<void>(series::consume(*served_->file, hold_, consumed));
  }
  return {};
}

// ---- what is due ----

std::uint64_t Subscription::published() const {
  return served_->file->control().published.published.load(std::memory_order_acquire);
}

std::uint64_t Subscription::oldest() const {
  return series::oldest_retained(served_->file->control().claimed.claimed.load(std::memory_order_acquire),
                                 served_->file->slots());
}

// Returns true if nothing will come beyond what is published now. Call it before published().
bool Subscription::closed() const {
  return served_->file->control().published.closed.load(std::memory_order_acquire) != 0 || served_->writer_gone;
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
  const bool last = closed();
  const std::uint64_t there = published();
  if (next_ < there) {
    if (next_ < limit_) {
      return Due::step;
    }
    return told_published_ < limit_ && told_published_ < there ? Due::news : Due::nothing;
  }
  return last && !told_end_ ? Due::end : Due::nothing;
}

bool Subscription::waits() const {
  return !over_ && refusal_.ok() && told_accepted_ && !told_end_ && next_ < limit_ && next_ >= published();
}

bool Subscription::ready() const {
  return (frames_[0].free || frames_[1].free) && due() != Due::nothing;
}

bool Subscription::push() {
  const Due what = due();
  const auto frame = std::find_if(frames_.begin(), frames_.end(), [](const Frame& each) { return each.free; });
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
      told_published_ = published();
      send(*frame, RelayKind::news, told_published_, 0, 0, 0);
      break;
    case Due::end: {
      told_end_ = true;
      const bool good = served_->file->control().published.closed.load(std::memory_order_acquire) != 0;
      send(*frame, RelayKind::ended, published(), 0, good ? 0 : 1, 0);
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
  told_published_ = std::max(published(), first_);
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

// Skips steps that would be overwritten while they are sent. The number of steps that the writer publishes while one is
// sent says how far ahead of the writer's slot a step must be to arrive whole. The margin follows that number at once
// if it grows, and slowly if it shrinks.
bool Subscription::jump(Frame& frame) {
  if (pace_ == Pace::every_step) {
    return false;
  }
  const std::uint64_t there = published();
  const std::uint64_t slots = served_->file->slots();
  const std::uint64_t margin = std::min(margin_, slots - 1);
  const std::uint64_t safe = pace_ == Pace::latest ? there - 1 : std::min(oldest() + margin, there - 1);
  published_at_begin_ = there;
  // A writer that has ended overwrites nothing.
  const bool near = next_ < oldest() + margin / 2 && !closed();
  if (next_ >= safe || (pace_ == Pace::follow && !near)) {
    return false;
  }
  const std::uint64_t begin = std::exchange(next_, safe);
  send(frame, RelayKind::lost, begin, next_, 0, 0);
  return true;
}

// Sends the next piece of step next_. It is packed out of its slot, and sent only if the slot still belongs to that
// step.
void Subscription::push_piece(Frame& frame) {
  const auto& header = served_->file->slot_header(next_);
  if (offset_ == 0 && (jump(frame) || !begin_step(frame))) {
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
  pushed_bytes += bytes;
  if (offset + bytes < step_bytes_) {
    offset_ += bytes;
    send(frame, RelayKind::piece, ordinal, offset, 0, bytes);
    return;
  }
  offset_ = 0;
  ++next_;
  ++pushed_steps;
  const std::uint64_t there = published();
  told_published_ = there;
  const std::uint64_t meanwhile = there - std::min(there, published_at_begin_);
  margin_ = std::max(2 * meanwhile + 1, margin_ - margin_ / 8);
  send(frame, RelayKind::step, ordinal, static_cast<std::uint64_t>(step_),
       static_cast<std::int32_t>(std::min<std::uint64_t>(there - next_, INT32_MAX)), bytes);
}

// The step next_ is gone, and so are all that the writer has claimed after it.
void Subscription::push_lost(Frame& frame, bool torn) {
  const std::uint64_t begin = next_;
  offset_ = 0;
  next_ = torn ? begin + 1 : std::max(begin + 1, std::min(oldest(), published()));
  // The step was not far enough away.
  margin_ = std::min(2 * margin_ + 1, served_->file->slots());
  send(frame, RelayKind::lost, begin, next_, torn ? 1 : 0, 0);
}

}  // namespace couplet::relay
