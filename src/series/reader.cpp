// Reading: wait, agree, copy, account.
#include "series/reader.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "base/counted.hpp"
#include "os/clock.hpp"
#include "series/common_share.hpp"
#include "series/waiting.hpp"

namespace couplet::series {
namespace {

// Time between two checks for lost writers, for a reader that only polls. A check takes some microseconds.
constexpr std::uint64_t polling_look_ns = 5'000'000;

std::int64_t bounded(std::uint64_t number) noexcept {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(number, INT64_MAX));
}

// Returns not_yet, with a text if a source cannot bring steps at present.
Status not_yet_from(const Attachment& attachment) {
  for (const Source& source : attachment.sources()) {
    if (std::string text = source.part->hindered(); !text.empty()) {
      return {Code::not_yet, std::move(text)};
    }
  }
  return Code::not_yet;
}

// Returns the largest number of steps that up_to_bytes allows in a batch.
std::uint64_t max_batch(const Attachment* attachment, const ReaderOptions& options) {
  const std::uint64_t step_bytes = attachment == nullptr ? 0 : attachment->step_bytes();
  if (options.up_to_bytes == 0 || step_bytes == 0) {
    return UINT64_MAX;
  }
  return std::max<std::uint64_t>(options.up_to_bytes / step_bytes, 1);
}

}  // namespace

// ---- looking ----

Status Reader::check_read(const Request& request) const {
  const std::uint64_t at_least = request.at_least;
  const std::uint64_t up_to = request.up_to;
  COUPLET_TRY(request.refusal);
  if (attachment_ == nullptr) {
    return fail(Code::state, "series '{}' is closed", name_);
  }
  if (at_least == 0 || up_to < at_least) {
    return fail(Code::argument, "series '{}': at_least is {} and up_to is {}; 1 <= at_least <= up_to is needed", name_,
                at_least, up_to);
  }
  if (const std::uint64_t most = max_batch(attachment_.get(), options_); at_least > most) {
    return fail(Code::limit, "series '{}': at_least is {}, but only {} of {} {} into up_to_bytes ({})", name_, at_least,
                counted(most, "step"), counted(attachment_->step_bytes(), "byte"), most == 1 ? "fits" : "fit",
                options_.up_to_bytes);
  }
  const std::uint64_t slots = attachment_->record().slots;
  const std::string distance = options_.every > 1 ? fmt::format(" (one of {} steps)", options_.every) : "";
  if (at_least - 1 > (slots - 1) / options_.every) {
    return fail(Code::limit, "series '{}': at_least is {}{}, but only {} (slots)", name_, at_least, distance,
                counted(slots, "step is retained", "steps are retained"));
  }
  if (options_.interval > 0 && at_least > 1) {
    return fail(
        Code::limit,
        "series '{}': at_least is {}, but a reader with an interval waits for one step at a time: at_least must be 1",
        name_, at_least);
  }
  if (const std::uint64_t fewest = attachment_->fewest_slots(); at_least - 1 > (fewest - 1) / options_.every) {
    return fail(Code::limit,
                "series '{}': at_least is {}{}, but only {} into the memory for steps of other nodes "
                "(buffer_bytes)",
                name_, at_least, distance, counted(fewest, "step fits", "steps fit"));
  }
  COUPLET_TRY(attachment_->check_holds());
  return BatchCopy::check(*attachment_, up_to, request.outs);
}

// Notes what this rank sees now. Accounts for the steps that are lost or below the first wanted one.
Status Reader::note_sight(View& view) {
  COUPLET_TRY_VALUE(view.sight, attachment_->look(options_.mode == Mode::follow));
  const std::uint64_t before = selection_.next();
  if (options_.mode == Mode::follow) {
    selection_.pass_lost(view.sight.oldest);
    if (links_wait(attachment_->sources())) {
      selection_.pass_lost(first_possible(attachment_->sources(), selection_.next()));
    }
  }
  const SeriesFile& file = *attachment_->sources().front().file;
  selection_.pass_steps_below(file, view.sight.published);
  bool scanned = false;
  if (options_.interval > 0) {
    COUPLET_TRY_VALUE(scanned, selection_.scan(*attachment_, view.sight.published));
  }
  if (scanned || selection_.next() != before) {
    attachment_->release(selection_.needed_steps());
  }
  return {};
}

Result<Reader::View> Reader::wait_for(std::uint64_t at_least, ReadLimit& limit) {
  Waiting waiting(environment_, limit.deadline_ns());
  const std::uint64_t before = selection_.next();
  const bool tells = !agreement_.alone() && links_wait(attachment_->sources());
  std::uint64_t fresh = 0;
  std::uint64_t fresh_until_ns = 0;
  for (bool first = true;; first = false) {
    COUPLET_TRY(attachment_->poll());
    View view;
    COUPLET_TRY(note_sight(view));
    if (first && options_.mode == Mode::follow && !links_wait(attachment_->sources()) &&
        following_.pace.needs_fresh_step(attachment_->fewest_slots())) {
      fresh = view.sight.published + 1;
      fresh_until_ns = os::now_ns() + following_.copy_ns;  // if none comes until then, the writer has slowed down
    }
    fresh = fresh > 0 && os::now_ns() < fresh_until_ns ? fresh : 0;
    const std::uint64_t target = std::max(selection_.target(at_least), fresh);
    // The other ranks are told at once of steps that this one has lost, so that their links do not bring them.
    if (view.sight.published >= target || (tells && selection_.next() > before)) {
      view.outlook = Outlook::steps;
    } else if (view.sight.ended && !view.sight.open) {
      view.outlook = Outlook::ended;
    } else if (const std::uint64_t now = os::now_ns(); !waiting.interrupted() && now < limit.deadline_ns()) {
      if (waiting.spin()) {
        continue;
      }
      view.outlook = end_.look(view.sight, *attachment_);
      view.disturbed = agreement_.disturbed();
      if (view.outlook == Outlook::waiting && view.disturbed.ok() && (agreement_.is_broken_up() || may_take_more())) {
        view.outlook = Outlook::steps;
      } else if (view.outlook == Outlook::waiting && view.disturbed.ok()) {
        const Source& awaited = attachment_->sources()[view.sight.awaited()];
        COUPLET_TRY(awaited.part->sleep(waiting, view.sight.ended ? published_in(awaited) + 1 : target));
        continue;
      }
    } else if (now >= next_look_ns_) {
      // A reader that polls with a timeout of 0 never sleeps. It checks for lost writers, and lets messages move, at
      // intervals.
      next_look_ns_ = now + polling_look_ns;
      COUPLET_TRY(waiting.look_around());
      view.outlook = end_.look(view.sight, *attachment_);
    }
    if (waiting.interrupted()) {
      limit.interrupt();
    }
    if (!first) {
      accounting_.count_waiting(waiting.waited_ns());
    }
    advise(view, at_least);
    return view;
  }
}

// Returns true if the ranks should agree on a larger share of the steps now: with the present one nothing comes.
bool Reader::may_take_more() {
  const auto& sources = attachment_->sources();
  return takes_what_comes(options_) && share_has_doubled(sources) && possible_share(sources) > following_.offered_share;
}

// Lets a follower begin so far ahead that, by its pace, the writer does not overtake its copies.
void Reader::advise(View& view, std::uint64_t at_least) const {
  const std::uint64_t next = selection_.chosen_from(selection_.next());
  view.begin = selection_.next();
  const std::uint64_t available = selection_.count_chosen(next, view.sight.published);
  if (options_.mode != Mode::follow || options_.latest || available == 0) {
    return;
  }
  const std::uint64_t slack = next - std::min(next, view.sight.oldest);
  const Pace::Advice advice = following_.pace.advise(slack, at_least, options_.every);
  view.max_steps = advice.max_steps;
  if (advice.ahead > slack) {
    const std::uint64_t newest = next + (available - 1) * options_.every;
    view.begin = std::min(selection_.chosen_from(view.sight.oldest + advice.ahead), newest);
  }
}

// ---- agreeing ----

// Returns how many steps may be lost at an uneven end: none that is below from_step.
std::uint64_t Reader::most_wanted() const noexcept {
  return selection_.has_begun() ? most_published(*attachment_) : selection_.next();
}

// The members exchange what they see. All continue with the same ordinals: up to the smallest number that is published
// for all, and from the largest position of any rank on.
Result<Reader::Plan> Reader::agree_on_plan(const Result<View>& view, std::uint64_t at_least, std::uint64_t up_to) {
  if (view) {
    following_.offered_share = possible_share(attachment_->sources());
  }
  if (agreement_.alone()) {
    COUPLET_TRY(view.status());
    if (attachment_->sources().size() > 1) {
      const std::uint64_t lost = accounting_.statistics().lost;
      share_alone(attachment_->sources(), options_, following_.links.kept_from(view->sight.published, lost));
    }
  }
  View own = view ? *view : View();
  Plan plan{own.outlook, at_least, up_to, own.over};
  const bool no_more = own.outlook == Outlook::ended || own.outlook == Outlook::lost;
  if (!agreement_.alone()) {
    const std::int64_t seen = bounded(own.sight.published);
    std::array<std::int64_t, 15> values = {seen,
                                           ~bounded(selection_.next()),
                                           ~bounded(own.begin),
                                           bounded(own.max_steps),
                                           own.outlook == Outlook::ended ? seen : INT64_MAX,
                                           own.outlook == Outlook::lost ? seen : INT64_MAX,
                                           own.outlook == Outlook::waiting ? 0 : 1,
                                           ~bounded(at_least),
                                           bounded(up_to),
                                           own.over ? 0 : 1,
                                           view ? following_.offered_share : wire::whole_share,
                                           view ? ~bounded(known_steps(attachment_->sources())) : 0,
                                           view ? ~bounded(most_wanted()) : ~0,
                                           own.outlook == Outlook::ended && end_.is_patient() ? 0 : 1,
                                           bounded(no_more ? last_step(*attachment_) : max_ordinal)};
    COUPLET_TRY(agreement_.minimum(AgreementPoint::plan, view.status(), values, agreement_.deadline_ns()));
    own.sight.published = static_cast<std::uint64_t>(values[0]);
    const std::uint64_t before = selection_.next();
    selection_.pass_agreed(static_cast<std::uint64_t>(~values[1]));
    if (selection_.next() != before) {
      attachment_->release(selection_.needed_steps());
    }
    own.begin = static_cast<std::uint64_t>(~values[2]);
    own.max_steps = static_cast<std::uint64_t>(values[3]);
    plan.outlook = common_outlook({.published = values[0],
                                   .ended = values[4],
                                   .lost = values[5],
                                   .waiting = values[6] == 0,
                                   .patient = values[13] == 0});
    plan.at_least = static_cast<std::uint64_t>(~values[7]);
    plan.up_to = static_cast<std::uint64_t>(values[8]);
    plan.over = values[9] == 0;
    if (takes_what_comes(options_)) {
      ask_for_share(attachment_->sources(), static_cast<std::uint32_t>(values[10]),
                    static_cast<std::uint64_t>(~values[11]),
                    following_.links.kept_from(own.sight.published, accounting_.statistics().lost));
    }
    plan.most = static_cast<std::uint64_t>(~values[12]);
    plan.last = static_cast<std::uint64_t>(values[14]);
  } else if (no_more) {
    plan.most = most_wanted();
    plan.last = last_step(*attachment_);
  }
  plan.ended = own.sight.published;
  COUPLET_TRY(choose(plan, own));
  return plan;
}

// Fills choices_ with the ordinals of this turn, which are the same on all ranks.
Status Reader::choose(Plan& plan, const View& view) {
  const std::uint64_t published = view.sight.published;
  const bool last_ones = plan.outlook == Outlook::ended || plan.outlook == Outlook::lost;
  choices_.clear();
  if (options_.interval > 0) {
    selection_.pass_lost(std::min(view.begin, published));
    auto verdicts = selection_.judge(*attachment_->sources().front().file, published, attachment_->record().slots);
    if (!verdicts.empty() && !agreement_.alone()) {
      COUPLET_TRY(agreement_.minimum(AgreementPoint::times, {}, verdicts, agreement_.deadline_ns()));
    }
    selection_.choose_by_time(verdicts, std::min(plan.up_to, view.max_steps), choices_);
    plan.outlook = choices_.size() >= plan.at_least ? Outlook::steps : plan.outlook;
  } else {
    const std::uint64_t found = selection_.count_chosen(selection_.next(), published);
    plan.outlook = found >= plan.at_least ? Outlook::steps : plan.outlook;
    if (found >= plan.at_least || last_ones) {
      selection_.pass_lost(std::min(view.begin, published));
      const std::uint64_t available = selection_.count_chosen(selection_.next(), published);
      const std::uint64_t count =
          std::min({available, plan.up_to, view.max_steps, options_.latest ? plan.at_least : UINT64_MAX});
      const std::uint64_t passed = options_.latest ? available - count : 0;
      selection_.choose_by_number(selection_.chosen_from(selection_.next()) + passed * options_.every, count, choices_);
    }
  }
  if (last_ones && choices_.empty()) {
    selection_.pass_skipped(published);  // the remaining ordinals were not chosen
  }
  return {};
}

// ---- reading ----

// Copies the choices behind the steps that are kept already, and returns how many are kept afterwards.
Result<std::uint64_t> Reader::copy_steps(std::uint64_t kept, std::span<const Out> outs, ReadLimit& limit) {
  const std::uint64_t before = kept;
  const Status room = copy_.aim(*attachment_, outs, kept + choices_.size(), choices_.size());
  const std::uint64_t start_ns = os::now_ns();
  Status own = copy_.copy(*attachment_, choices_, kept, room, limit);
  if (own.ok()) {
    own = attachment_->check_holds();  // a reader whose hold was released delivers nothing further
  }
  following_.copy_ns = os::now_ns() - start_ns;
  accounting_.count_copying(following_.copy_ns);
  if (Status agreed = copy_.agree(agreement_, *attachment_, own, kept); !agreed.ok()) {
    copy_.shrink(before);
    return agreed;
  }
  std::uint64_t torn = 0;
  std::uint64_t done = 0;
  std::optional<double> time;
  for (; done < choices_.size() && copy_.outcome(before + done) > Outcome::mismatch; ++done) {
    const std::size_t at = before + done;
    if (copy_.delivers(at)) {
      torn += copy_.outcome(at) == Outcome::torn ? 1U : 0U;
      copy_.keep(*attachment_, at, kept);
      following_.links.delivered(choices_[done].ordinal);
      time = copy_.time(kept++);
    } else if (copy_.outcome(at) == Outcome::gone) {
      accounting_.lose(1);
    } else {
      accounting_.lose_torn();
    }
  }
  Status mismatch;
  if (done == 0 && copy_.outcome(before) == Outcome::mismatch) {
    mismatch = agreement_.status(AgreementPoint::mismatch, copy_.disagreement(), agreement_.deadline_ns());
    if (kept == 0) {  // this read reports it; otherwise the next read does, and this one delivers what it has
      accounting_.lose(1);
      done = 1;
    }
  }
  accounting_.deliver(kept - before, torn, (kept - before) * attachment_->step_bytes());
  following_.pace.note(copy_.copied());
  selection_.pass_copied(choices_, done, time);
  attachment_->release(selection_.needed_steps());
  copy_.shrink(kept);
  return mismatch.ok() ? Result<std::uint64_t>(kept) : mismatch;
}

// Returns what this rank brings to the plan of a turn.
Result<Reader::View> Reader::look_for_steps(const Request& request, std::uint64_t kept, ReadLimit& limit) {
  Status sound = check_read(request);
  if (sound.code() == Code::limit) {  // the end of a series of another node comes by frames
    COUPLET_TRY(Waiting(environment_, 0).look_around());
    COUPLET_TRY(attachment_->poll());
  }
  if (!sound.ok() && !(sound.code() == Code::limit && is_over(*attachment_))) {
    if (sound.code() == Code::evicted) {
      if (const auto sight = attachment_->look(true)) {
        selection_.pass_lost(sight->oldest);
      }
    }
    return sound;
  }
  return wait_for(request.at_least - kept, limit);
}

// Searches and copies, again and again, until at_least steps are kept. If something goes wrong, the steps that were
// kept before are delivered, and the next read returns the error.
Status Reader::read_steps(Request request, ReadLimit& limit, std::uint64_t& kept) {
  bool tried = false;
  for (bool first = true;; first = false) {
    Result<View> view = look_for_steps(request, kept, limit);
    if (view && !view->disturbed.ok()) {
      return kept > 0 ? Status() : view->disturbed;
    }
    if (view && !first) {
      auto over = limit.reached();
      view->over = !over || *over;
    }
    const auto plan = agree_on_plan(view, request.at_least - kept,
                                    std::min(request.up_to, max_batch(attachment_.get(), options_)) - kept);
    if (!plan) {
      return kept > 0 ? Status() : plan.status();
    }
    request.at_least = plan->at_least + kept;
    request.up_to = plan->up_to + kept;
    if (choices_.empty()) {
      if (plan->outlook == Outlook::steps && !plan->over) {
        continue;
      }
      const Status status = kept > 0 ? Status() : nothing_left(*plan, limit.deadline_ns());
      return status.code() == Code::not_yet && limit.interrupted() ? Status(Code::interrupted) : status;
    }
    if (tried && plan->over) {
      return kept > 0 ? Status() : Status(limit.interrupted() ? Code::interrupted : Code::not_yet);
    }
    tried = true;
    const auto copied = copy_steps(kept, request.outs, limit);
    if (!copied) {
      return kept > 0 ? Status() : copied.status();
    }
    kept = *copied;
    if (kept >= request.at_least || (kept > 0 && plan->outlook != Outlook::steps)) {
      return {};
    }
  }
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
                    Batch& batch, const Status& refusal) {
  const std::uint64_t start_ns = os::now_ns();
  const std::uint64_t waited_ns = accounting_.statistics().held_ns;
  ReadLimit limit(environment_, deadline_ns);
  std::uint64_t kept = 0;
  agreement_.begin(deadline_ns);
  Status status;
  try {
    status = read_steps({at_least, up_to, outs, refusal}, limit, kept);
  } catch (const std::bad_alloc&) {
    status = fail(Code::memory, "series '{}': there is not enough memory to read it", name_);
    agreement_.leave(status);
  }
  if (status.ok()) {
    const auto& data = copy_.data(*attachment_);
    batch = {kept,          data.front().data, data.front().step_bytes, data.data(),  data.size(),
             copy_.times(), copy_.steps(),     copy_.ordinals(),        copy_.torn(), accounting_.take_lost(),
             incarnation_};
    accounting_.count_call(kept);
  }
  accounting_.count_library(os::now_ns() - start_ns - (accounting_.statistics().held_ns - waited_ns));
  accounting_.pass_on(environment_.counters());
  return status;
}

// ---- ends ----

Status Reader::nothing_left(const Plan& plan, std::uint64_t deadline_ns) {
  const Outlook outlook = plan.outlook;
  if (outlook != Outlook::ended && outlook != Outlook::lost) {
    return not_yet_from(*attachment_);
  }
  const std::uint64_t lost = outlook == Outlook::ended ? selection_.pass_partial(plan.ended, plan.most) : 0;
  // No later step becomes whole, so this reader holds nothing that other writer ranks still publish.
  const bool at_last = plan.last <= selection_.next();
  attachment_->release(at_last ? NeededSteps{.from = max_ordinal} : selection_.needed_steps());
  if (lost > 0 && end_.is_uneven_news()) {
    return uneven_end(*attachment_, plan.ended, plan.most, lost);
  }
  if (outlook == Outlook::ended && end_.is_news()) {
    return Code::end;
  }
  Status restarted = restart(deadline_ns);
  // Without the hub it is not known whether there is a newer incarnation, but it is known how this one has ended.
  if (restarted.code() != Code::not_yet && restarted.code() != Code::hub_lost) {
    return restarted;
  }
  if (next_ != nullptr) {
    return restarted;  // there is a newer incarnation, but not all of its slots can be reached yet
  }
  if (outlook == Outlook::ended) {
    return Code::end;
  }
  const Source* const limiting = attachment_->find_lost(selection_.next());
  if (const Source* const gone = limiting != nullptr ? limiting : attachment_->find_lost(max_ordinal)) {
    return gone->part->alive().within(
        fmt::format("series '{}': no more than {} can be read", name_, counted(selection_.next(), "step")));
  }
  return fail(Code::peer_lost,
              "series '{}': a writer that another rank of this reader reads, or its relay, is gone, {}", name_,
              counted(selection_.next(), "step was published", "steps were published"));
}

Result<Retained> Reader::retained() {
  if (attachment_ == nullptr) {
    return fail(Code::state, "series '{}' is closed", name_);
  }
  COUPLET_TRY(attachment_->check_holds());
  COUPLET_TRY(attachment_->poll());
  COUPLET_TRY_VALUE(const Sight sight, attachment_->look(true));
  return attachment_->retained(sight);
}

Statistics Reader::count() {
  if (attachment_ != nullptr) {
    accounting_.see(attachment_->published(), selection_.next());
  }
  return accounting_.statistics();
}

}  // namespace couplet::series
