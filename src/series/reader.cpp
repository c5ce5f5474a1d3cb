// Reading: wait, agree, copy, account.
#include "series/reader.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "series/collective.hpp"
#include "series/slot_protocol.hpp"

namespace couplet::series {

using wire::ReaderState;

namespace {

constexpr std::uint64_t restart_look_ns = 200'000'000;  // how long the registry may take to know of a new incarnation

}  // namespace

// ---- looking ----

Reader::View Reader::look() {
  View view;
  view.published = UINT64_MAX;
  for (std::size_t index = 0; index < sources_.size(); ++index) {
    const auto& control = sources_[index].file->control().published;
    // closed is read first: what is published then is all there will be
    const bool closed = control.closed.load(std::memory_order_acquire) != 0;
    const std::uint64_t published = control.published.load(std::memory_order_acquire);
    if (published < view.published || (published == view.published && closed)) {
      view.published = published;
      view.limiting = index;
      view.outlook = closed ? Outlook::ended : Outlook::waiting;
    }
  }
  return view;
}

std::uint64_t Reader::chosen_from(std::uint64_t ordinal) const noexcept {
  const std::uint64_t over = (ordinal - origin_.value_or(ordinal)) % options_.every;
  return over == 0 ? ordinal : ordinal + options_.every - over;
}

std::uint64_t Reader::count_chosen(std::uint64_t begin, std::uint64_t end) const noexcept {
  const std::uint64_t first = chosen_from(begin);
  return first < end ? (end - first - 1) / options_.every + 1 : 0;
}

// What was not chosen would have been skipped anyway.
void Reader::pass_lost(std::uint64_t next) {
  if (next > next_) {
    const std::uint64_t known = std::clamp(scanned_, next_, next);  // not chosen by their times
    const std::uint64_t lost = count_chosen(known, next);
    statistics_.lost += lost;
    statistics_.skipped += next - next_ - lost;
    next_ = next;
  }
}

void Reader::pass_skipped(std::uint64_t published) {
  while (skip_below_ && next_ < published) {
    const auto step = read_step(sources_.front().file->slot_header(next_), next_);
    if (step && *step >= *skip_below_) {
      skip_below_.reset();
      return;
    }
    ++next_;
    ++statistics_.skipped;
  }
}

// A writer that has gone before it closed or published more than that. What it left is looked at after it was found to
// be gone: it may have published and closed until then.
const Reader::Source* Reader::gone_writer(std::uint64_t published) {
  for (const Source& source : sources_) {
    const auto& control = source.file->control().published;
    if (control.published.load(std::memory_order_acquire) <= published && !source.part->alive().ok() &&
        control.closed.load(std::memory_order_acquire) == 0 &&
        control.published.load(std::memory_order_acquire) <= published) {
      return &source;
    }
  }
  return nullptr;
}

Result<Reader::View> Reader::wait_for(std::uint64_t at_least, std::uint64_t deadline_ns) {
  Waiting waiting(environment_, deadline_ns);
  for (bool first = true;; first = false) {
    for (Source& source : sources_) {
      COUPLET_TRY(source.part->poll());
    }
    View view = look();
    for (const Source& source : sources_) {
      const std::uint64_t claimed = source.file->control().claimed.claimed.load(std::memory_order_acquire);
      if (options_.mode == Mode::follow) {
        pass_lost(std::min(oldest_retained(claimed, source.file->slots()), view.published));
      }
    }
    if (skip_below_) {
      pass_skipped(view.published);
      release_consumed();
    }
    if (options_.interval > 0) {
      COUPLET_TRY(scan(view.published));
    }
    const std::uint64_t target = chosen_from(std::max(next_, scanned_)) + (at_least - 1) * options_.every + 1;
    if (view.published >= target) {
      view.outlook = Outlook::steps;
    }
    if (view.outlook == Outlook::waiting && !waiting.over()) {
      if (waiting.spin()) {
        continue;
      }
      if (!gone_writer(view.published)) {
        COUPLET_TRY(sources_[view.limiting].part->sleep(waiting, target));
        continue;
      }
      view.outlook = Outlook::lost;
    }
    view.interrupted = waiting.interrupted();
    if (!first) {
      statistics_.held_ns += waiting.waited_ns();
    }
    return view;
  }
}

// ---- agreeing ----

Status Reader::check_read(std::uint64_t at_least, std::uint64_t up_to) const {
  if (closed_) {
    return fail(Code::state, "{} is closed", title());
  }
  if (at_least == 0 || up_to < at_least) {
    return fail(Code::argument, "{}: at_least {} and up_to {}: 1 <= at_least <= up_to is needed", title(), at_least,
                up_to);
  }
  const std::string distance = options_.every > 1 ? fmt::format(" (one of {} steps)", options_.every) : "";
  if (at_least - 1 > (record_.slots - 1) / options_.every) {
    return fail(Code::limit, "{}: at_least is {}{}, but only {} steps are retained (slots)", title(), at_least,
                distance, record_.slots);
  }
  if (options_.interval > 0 && at_least > 1) {
    return fail(Code::limit, "{}: at_least is {}, but with an interval steps are waited for one by one", title(),
                at_least);
  }
  if (const std::uint64_t fewest = fewest_slots(); at_least - 1 > (fewest - 1) / options_.every) {
    return fail(Code::limit,
                "{}: at_least is {}{}, but only {} steps fit into the memory for steps of other nodes (buffer_bytes)",
                title(), at_least, distance, fewest);
  }
  return check_holds();
}

Status Reader::check_outs(std::uint64_t up_to, std::span<const Out> outs) const {
  if (!outs.empty() && outs.size() != fields_.size()) {
    return fail(Code::argument, "{}: {} arrays to read into are given, {} fields are read", title(), outs.size(),
                fields_.size());
  }
  for (std::size_t index = 0; index < outs.size(); ++index) {
    const Out& out = outs[index];
    const Field& field = fields_[index];
    std::uint64_t needed = 0;
    if (out.data != nullptr && out.strides == nullptr &&
        (__builtin_mul_overflow(up_to, field.step_bytes, &needed) || out.bytes < needed)) {
      return fail(Code::argument, "{}: out has {} bytes, {} steps of {} bytes do not fit", title_of(field), out.bytes,
                  up_to, field.step_bytes);
    }
    if (out.strides != nullptr) {
      layout::Strides strides{};
      std::copy_n(out.strides + 1, field.box.dimensions, strides.begin());
      COUPLET_TRY(layout::check_strides(field.box, strides, title_of(field) + ": out"));
      for (int dimension = 0; dimension < field.box.dimensions; ++dimension) {
        if (strides[static_cast<std::size_t>(dimension)] == 0 && field.box.extent(dimension) > 1 &&
            field.step_bytes > 0) {
          return fail(Code::argument, "{}: out has a stride of 0 in dimension {}: elements would share their place",
                      title_of(field), dimension);
        }
      }
    }
  }
  return {};
}

std::uint64_t Reader::fewest_slots() const {
  std::uint64_t fewest = record_.slots;
  for (const Source& source : sources_) {
    fewest = std::min(fewest, source.file->slots());
  }
  return fewest;
}

Status Reader::check_holds() const {
  for (const Source& source : sources_) {
    if (source.entry >= 0 && owner_of(source.file->readers()[source.entry]).state == ReaderState::evicted) {
      return fail(Code::evicted,
                  "{}: this reader ({}) held writer rank {} up for longer than evict_after and was released", title(),
                  environment_.peer_name(environment_.self()), source.writer);
    }
  }
  return {};
}

// The members bring what they see; all go on with the same ordinals: the least published, the furthest next.
Result<Reader::Plan> Reader::agree_on_plan(const Result<View>& view, std::uint64_t at_least, std::uint64_t up_to) {
  Plan plan{0, 0, Outlook::waiting, at_least, up_to};
  std::uint64_t published = view ? view->published : 0;
  if (view) {
    plan.outlook = view->outlook;
  }
  if (team_.size() > 1) {
    std::array<std::int64_t, 8> values = {view ? 1 : 0,
                                          static_cast<std::int64_t>(std::min<std::uint64_t>(published, INT64_MAX)),
                                          -static_cast<std::int64_t>(next_),
                                          plan.outlook == Outlook::ended ? 0 : 1,
                                          plan.outlook == Outlook::lost ? 0 : 1,
                                          -static_cast<std::int64_t>(std::min<std::uint64_t>(at_least, INT64_MAX)),
                                          static_cast<std::int64_t>(std::min<std::uint64_t>(up_to, INT64_MAX)),
                                          plan.outlook == Outlook::waiting ? 0 : 1};
    COUPLET_TRY(team_.minimum(values, os::never));
    if (values[0] == 0) {
      return agree_on_status(team_, view.status(), "reader rank", os::never);
    }
    published = static_cast<std::uint64_t>(values[1]);
    pass_lost(static_cast<std::uint64_t>(-values[2]));
    // Where all had enough, but not the same, they look again: steps without a count.
    plan.outlook = values[4] == 0   ? Outlook::lost
                   : values[3] == 0 ? Outlook::ended
                   : values[7] == 0 ? Outlook::waiting
                                    : Outlook::steps;
    plan.at_least = static_cast<std::uint64_t>(-values[5]);
    plan.up_to = static_cast<std::uint64_t>(values[6]);
  } else if (!view) {
    return view.status();
  }
  std::uint64_t available = 0;
  if (options_.interval > 0) {
    COUPLET_TRY_VALUE(available, choose_by_time(published, plan.up_to));
  } else {
    available = count_chosen(next_, published);
  }
  const bool last_ones = plan.outlook == Outlook::ended || plan.outlook == Outlook::lost;
  if (available >= plan.at_least) {
    plan.outlook = Outlook::steps;
    plan.count = std::min(available, plan.up_to);
  } else if (last_ones) {
    plan.count = std::min(available, plan.up_to);
  }
  if (last_ones && available == 0 && published > next_) {  // what is left was not chosen
    statistics_.skipped += published - next_;
    next_ = published;
  }
  plan.first = options_.interval > 0 && available > 0 ? by_time_.front() : chosen_from(next_);
  if (options_.latest && plan.count > 0) {
    plan.count = std::min(plan.count, plan.at_least);
    plan.first += (available - plan.count) * options_.every;
  }
  return plan;
}

// ---- ends ----

Status Reader::nothing_left(Outlook outlook) {
  if (outlook == Outlook::ended && !end_told_) {
    end_told_ = true;
    return Code::end;
  }
  if (outlook == Outlook::ended || outlook == Outlook::lost) {
    Status restarted = restart();
    if (restarted.code() != Code::not_yet) {
      return restarted;
    }
    if (outlook == Outlook::ended) {
      return Code::end;
    }
    if (const Source* const gone = gone_writer(next_)) {
      return gone->part->alive().within(fmt::format("{}: the writer is gone, {} steps were published", title(), next_));
    }
    return fail(Code::peer_lost, "{}: a writer of another reader rank is gone, {} steps were published", title(),
                next_);
  }
  return Code::not_yet;
}

// Is there a new incarnation? Then goes over to it: restarted. not_yet: no.
Status Reader::restart() {
  const auto record = environment_.registry().find(record_.name, static_cast<std::int64_t>(record_.incarnation),
                                                   os::now_ns() + restart_look_ns);
  std::int64_t there = record ? 1 : 0;
  COUPLET_TRY(team_.minimum({&there, 1}, os::never));
  if (there == 0) {
    return Code::not_yet;
  }
  const std::uint64_t published = look().published;
  if (published != UINT64_MAX) {
    pass_lost(published);  // what other members could not read any more
  }
  passed_ += next_;
  const auto old_incarnation = static_cast<std::int64_t>(record_.incarnation);
  const std::string name = record_.name;
  detach();
  next_ = 0;
  origin_.reset();
  scanned_ = 0;
  window_ = INT64_MIN;
  end_told_ = false;
  COUPLET_TRY(attach(name, old_incarnation, From::oldest, os::now_ns() + restart_look_ns));
  statistics_.lost += next_;  // of the new incarnation, overwritten before it was found
  return Code::restarted;
}

// ---- reading ----

// Copies steps until at_least are kept; answers as read.
Status Reader::read_steps(std::uint64_t at_least, std::uint64_t up_to, std::uint64_t deadline_ns,
                          std::span<const Out> outs, std::uint64_t& kept) {
  do {  // again only where a follower found everything torn
    Status sound = check_read(at_least, up_to);
    if (sound.ok()) {
      sound = check_outs(up_to, outs);
    }
    const Result<View> view = sound.ok() ? wait_for(at_least - kept, deadline_ns) : Result<View>(sound);
    COUPLET_TRY_VALUE(const auto plan, agree_on_plan(view, at_least - kept, up_to - kept));
    if (plan.count == 0 && plan.outlook == Outlook::steps) {
      continue;
    }
    if (plan.count == 0) {
      const Status status = kept > 0 ? Status() : nothing_left(plan.outlook);
      return status.code() == Code::not_yet && view->interrupted ? Status(Code::interrupted) : status;
    }
    at_least = plan.at_least + kept;
    up_to = plan.up_to + kept;
    const Status room = aim(outs, kept + plan.count);
    COUPLET_TRY_VALUE(kept, copy_steps(plan, kept, room));
    if (plan.outlook != Outlook::steps) {
      break;
    }
  } while (kept < at_least);
  return {};
}

Status Reader::read(std::uint64_t at_least, std::uint64_t up_to, std::uint64_t deadline_ns, void* out,
                    std::uint64_t out_bytes, Batch& batch) {
  if (out == nullptr) {
    return read(at_least, up_to, deadline_ns, {}, batch);
  }
  const Out one{out, out_bytes, nullptr};
  return read(at_least, up_to, deadline_ns, std::span(&one, 1), batch);
}

Status Reader::read(std::uint64_t at_least, std::uint64_t up_to, std::uint64_t deadline_ns, std::span<const Out> outs,
                    Batch& batch) {
  const std::uint64_t start = os::now_ns();
  const std::uint64_t held = statistics_.held_ns;
  std::uint64_t kept = 0;
  Status status = read_steps(at_least, up_to, deadline_ns, outs, kept);
  if (status.ok()) {
    for (std::size_t index = 0; index < fields_.size(); ++index) {
      data_[index] = {targets_[index].data, fields_[index].step_bytes};
    }
    batch = {kept,
             data_.front().data,
             data_.front().step_bytes,
             data_.data(),
             data_.size(),
             times_.data(),
             steps_.data(),
             ordinals_.data(),
             torn_.data(),
             statistics_.lost - lost_told_,
             record_.incarnation};
    lost_told_ = statistics_.lost;
    ++statistics_.calls;
    statistics_.largest_batch = std::max(statistics_.largest_batch, kept);
  }
  statistics_.library_ns += os::now_ns() - start - (statistics_.held_ns - held);
  count_in_page();
  return status;
}

void Reader::count_in_page() {
  using counters::Counter;
  auto& counters = environment_.counters();
  const std::uint64_t wait_ns = statistics_.held_ns - told_.held_ns;
  counters.add(Counter::series_steps_delivered, statistics_.delivered - told_.delivered);
  counters.add(Counter::series_bytes_delivered, statistics_.bytes - told_.bytes);
  counters.add(Counter::series_steps_lost, statistics_.lost - told_.lost);
  counters.add(Counter::series_steps_torn, statistics_.lost_torn - told_.lost_torn);
  counters.add(Counter::series_steps_skipped, statistics_.skipped - told_.skipped);
  counters.add(Counter::series_read_wait_ns, wait_ns);
  counters.add(Counter::series_read_ns, statistics_.library_ns - told_.library_ns + wait_ns);
  told_ = statistics_;
}

Result<Retained> Reader::retained() {
  if (closed_) {
    return fail(Code::state, "{} is closed", title());
  }
  for (;;) {
    for (Source& source : sources_) {
      COUPLET_TRY(source.part->poll());
    }
    const View view = look();
    if (view.published == 0) {
      return Code::not_yet;
    }
    std::uint64_t first = 0;
    for (const Source& source : sources_) {
      const std::uint64_t claimed = source.file->control().claimed.claimed.load(std::memory_order_acquire);
      first = std::max({first, oldest_retained(claimed, source.file->slots()), source.part->first_ordinal()});
    }
    const auto step = read_step(sources_[view.limiting].file->slot_header(view.published - 1), view.published - 1);
    if (step) {
      return Retained{std::min(first, view.published), view.published, *step};
    }
    if (first >= view.published) {  // one slot, which is being written: its step is known no more
      return Code::not_yet;
    }
  }
}

Statistics Reader::count() {
  if (!sources_.empty()) {
    std::uint64_t published = UINT64_MAX;
    for (const Source& source : sources_) {
      published = std::min(published, source.part->published());
    }
    published = std::max(published, next_);
    statistics_.published = passed_ + published;
    statistics_.pending = published - next_;
  }
  return statistics_;
}

Description Reader::describe() const {
  Description description{record_.name, record_.program, sources_.empty() ? "mapped" : sources_.front().part->route(),
                          {},           record_.slots,   static_cast<std::int32_t>(record_.parts.size())};
  for (const Field& chosen : fields_) {
    const auto& field = record_.fields[chosen.field];
    description.fields.push_back({field.name, field.type, field.shape, {chosen.box}, chosen.step_bytes});
  }
  return description;
}

}  // namespace couplet::series
