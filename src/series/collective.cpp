#include "series/collective.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <new>
#include <vector>

#include "os/clock.hpp"
#include "universe/series_record.hpp"

namespace couplet::series {
namespace {

constexpr std::string_view reader_rank = "reader rank";
// As many numbers as any first agreement of a call brings, so that two calls can be told from each other.
constexpr std::size_t fewest_words = 20;
constexpr std::size_t max_passed_bytes = 1U << 20U;  // in one part
// For how long rank 0 asks the hub for a record before the ranks agree whether to go on.
constexpr std::uint64_t max_ask_ns = 200'000'000;

// "<code> <sentence>"
std::string encode(const Status& status) {
  return fmt::format("{} {}", static_cast<couplet_status>(status.code()), status.text());
}

Status decode(const std::string& text) {
  couplet_status code = COUPLET_ERROR_INTERNAL;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), code);
  const auto at = static_cast<std::size_t>(result.ptr - text.data());
  return {static_cast<Code>(code), at < text.size() ? text.substr(at + 1) : std::string()};
}

// Called if some member has failed. Returns this member's own failure or, if it has none, that of the first one that
// failed.
Status tell_failure(message::Team& team, const Status& own, std::string_view kind, std::uint64_t deadline_ns) {
  auto texts = team.gather(encode(own), deadline_ns);
  if (!own.ok()) {
    return own;
  }
  if (!texts) {
    return texts.status();
  }
  for (std::size_t rank = 0; rank < texts->size(); ++rank) {
    if (Status status = decode((*texts)[rank]); !status.ok()) {
      return status.within(fmt::format("{} {}", kind, rank));
    }
  }
  return fail(Code::internal, "a member of the team has failed, but has given no reason");
}

Status out_of_step(const message::Team& team, const Subject& subject) {
  return fail(Code::mismatch,
              "{} {} {}, and another rank makes another call: all ranks must make the same calls. If a rank was "
              "started again, close the series on the other ranks, and then create or open it on all ranks",
              subject.kind, team.rank(), subject.call);
}

// What the user's call does in which a rank of a reader comes to this point.
std::string_view call_with(AgreementPoint point) noexcept {
  switch (point) {
    case AgreementPoint::choice:
      return "opens the series";
    case AgreementPoint::record:
    case AgreementPoint::sources:
    case AgreementPoint::start:
    case AgreementPoint::opened:
      return "attaches to an incarnation of the series";
    case AgreementPoint::instants:
      return "reads the series at physical times";
    default:
      return "reads the series";
  }
}

}  // namespace

Status agree_on_status(message::Team& team, const Status& own, const Subject& subject, std::uint64_t deadline_ns) {
  return agree_on_minimum(team, own, subject, {}, deadline_ns);
}

Status agree_on_minimum(message::Team& team, const Status& own, const Subject& subject, std::span<std::int64_t> values,
                        std::uint64_t deadline_ns) {
  if (team.size() == 1) {
    return own;
  }
  try {
    std::vector<std::int64_t> words = {own.ok() ? 1 : 0, subject.number, ~subject.number};
    const auto head = static_cast<std::ptrdiff_t>(words.size());
    words.insert(words.end(), values.begin(), values.end());
    words.resize(std::max(words.size(), fewest_words));
    if (Status status = team.minimum(words, deadline_ns); !status.ok()) {
      return own.ok() ? status : own;
    }
    if (words[1] != ~words[2]) {
      return own.ok() ? out_of_step(team, subject) : own;
    }
    if (words.front() != 1) {
      return tell_failure(team, own, subject.kind, deadline_ns);
    }
    std::copy_n(words.begin() + head, values.size(), values.begin());
    return {};
  } catch (const std::bad_alloc&) {
    Status why = fail(Code::memory, "{} {}: no memory to agree with the others", subject.kind, team.rank());
    team.leave(why);
    return own.ok() ? why : own;
  }
}

Status Agreement::minimum(AgreementPoint point, const Status& own, std::span<std::int64_t> values,
                          std::uint64_t deadline_ns) {
  if (alone()) {
    return own;
  }
  const Status mine = own.ok() ? environment_.before_agreement(point) : own;
  const Subject subject{reader_rank, call_with(point), static_cast<std::int64_t>(point)};
  return agree_on_minimum(team_, mine, subject, values, deadline_ns);
}

Status Agreement::pass_on(std::string& bytes, std::size_t size, std::uint64_t deadline_ns) {
  if (alone()) {
    return {};
  }
  const bool gives = rank() == 0;
  try {
    std::string all;
    std::string part;
    all.reserve(gives ? 0 : size);
    for (std::size_t offset = 0; offset < size; offset += max_passed_bytes) {
      part = gives ? bytes.substr(offset, max_passed_bytes) : std::string();
      COUPLET_TRY(team_.broadcast(part, deadline_ns));
      all.append(gives ? std::string_view() : part);
    }
    if (!gives) {
      bytes = std::move(all);
    }
  } catch (const std::bad_alloc&) {
    Status why =
        fail(Code::memory, "{} {}: no memory for the {} bytes that rank 0 passes on", reader_rank, rank(), size);
    leave(why);
    return why;
  }
  if (bytes.size() != size) {
    Status why = fail(Code::protocol, "{} {}: rank 0 has passed on {} bytes, and has announced {}", reader_rank, rank(),
                      bytes.size(), size);
    leave(why);
    return why;
  }
  return {};
}

void Agreement::leave(const Status& why) noexcept {
  if (!alone()) {
    std::array<char, 40> title{};
    const auto end = fmt::format_to_n(title.data(), title.size(), "{} {}", reader_rank, team_.rank());
    team_.leave(why.within({title.data(), end.out}));
  }
}

Status Agreement::disturbed() {
  Status why = alone() ? Status() : team_.disturbance();
  if (!why.ok()) {
    team_.leave(why);  // the neighbours hear the same, as if it came from this rank
  }
  return why;
}

// ---- the record ----

// Rank 0 asks the hub, and the others only see whether they were interrupted.
RecordSearch::Look RecordSearch::look(std::int64_t newer_than, std::uint64_t deadline_ns) {
  Look own;
  if (agreement_.rank() == 0) {
    const std::uint64_t whole_ns = os::now_ns() + max_ask_ns;
    const std::uint64_t until_ns = agreement_.alone() ? deadline_ns : std::min(deadline_ns, whole_ns);
    try {
      own.found = environment_.registry().find(name_, newer_than, until_ns);
      if (own.found && !agreement_.alone()) {
        own.description = universe::encode_record(*own.found);
      }
    } catch (const std::bad_alloc&) {
      own.found = fail(Code::memory, "series '{}': there is not enough memory for its description", name_);
    }
    const bool goes_on = os::now_ns() < deadline_ns;
    const bool may_return =
        goes_on && own.found.code() == Code::hub_lost && environment_.registry().may_ask(name_).ok();
    // The hub may not know of it yet: then it says why.
    const std::string text = own.found.code() == Code::not_yet ? own.found.status().text() : std::string();
    const bool is_doubtful = !text.empty() && text != Status(Code::not_yet).text();
    const bool unanswered = may_return || is_doubtful || own.found.code() == Code::timeout;
    if (unanswered) {
      doubt_ = is_doubtful ? text : "the hub has not answered in time";
      own.found = Code::not_yet;  // the hub is away or stopped, and may come back
    }
    // The rest of the time may be too short for an answer, which says nothing about the hub.
    if (!unanswered || until_ns >= whole_ns) {
      answered_ = !unanswered;
    }
    own.unanswered = !answered_;
    own.interrupted = own.found.code() == Code::interrupted;
  } else {
    const auto slice = environment_.between_slices();
    own.interrupted = slice.code() == Code::interrupted;
    own.found = slice ? Status(Code::not_yet) : slice.status();
  }
  own.over = own.interrupted || os::now_ns() >= deadline_ns || (agreement_.alone() && answered_);
  return own;
}

// Rank 0 asks again and again, so that all hear soon if the call is over for one of them.
Result<universe::SeriesRecord> RecordSearch::newest(std::int64_t newer_than, const universe::SeriesRecord* begun,
                                                    std::uint64_t deadline_ns, std::uint64_t agreement_ns) {
  answered_ = false;
  const std::int64_t attaching = begun != nullptr ? static_cast<std::int64_t>(begun->incarnation) : -1;
  for (;;) {
    Look own = look(newer_than, deadline_ns);
    // The first two are those of rank 0, which alone has found a record or not: -1. So is the last one: 0 if the hub
    // has not answered it.
    std::array<std::int64_t, 6> values = {INT64_MAX,  INT64_MAX,        attaching,
                                          ~attaching, own.over ? 0 : 1, own.unanswered ? 0 : 1};
    if (agreement_.rank() == 0) {
      values[0] = own.found ? static_cast<std::int64_t>(own.found->incarnation) : -1;
      values[1] = static_cast<std::int64_t>(own.description.size());
    }
    COUPLET_TRY(agreement_.minimum(AgreementPoint::record, own.failure(), values, agreement_ns));
    if (values[0] >= 0 && agreement_.alone()) {
      return std::move(own.found);
    }
    if (values[0] >= 0 && values[2] == values[0] && ~values[3] == values[0]) {
      return *begun;  // all ranks have begun to attach to it
    }
    if (values[0] >= 0) {
      return pass_on(std::move(own), static_cast<std::uint64_t>(values[0]), static_cast<std::uint64_t>(values[1]),
                     agreement_ns);
    }
    if (own.interrupted) {
      return Code::interrupted;
    }
    if (values[4] == 0 && values[5] == 0) {
      return fail(Code::timeout, "series '{}' is not found: {}", name_,
                  agreement_.rank() == 0 ? doubt_ : "the hub has not answered in time, or cannot know of it yet");
    }
    if (values[4] == 0) {
      const char* const why = own.over ? "no program has created it in time"
                                       : "another reader rank has given up: its time has passed, or it was interrupted";
      return newer_than < 0 ? fail(Code::timeout, "series '{}' does not exist: {}", name_, why)
                            : fail(Code::timeout, "series '{}' has no incarnation after {}", name_, newer_than);
    }
  }
}

// Passes what rank 0 has found on to all. The others take it as if they had found it.
Result<universe::SeriesRecord> RecordSearch::pass_on(Look own, std::uint64_t incarnation, std::uint64_t bytes,
                                                     std::uint64_t agreement_ns) {
  if (bytes > universe::max_record_bytes) {
    return fail(Code::protocol,
                "series '{}': reader rank 0 passes on a description of {} bytes, at most {} are allowed", name_, bytes,
                universe::max_record_bytes);
  }
  COUPLET_TRY(agreement_.pass_on(own.description, bytes, agreement_ns));
  if (agreement_.rank() == 0) {
    return std::move(own.found);
  }
  try {
    own.found = universe::decode_record(own.description);
    if (own.found) {
      own.found->incarnation = incarnation;
      environment_.registry().learned(*own.found, own.description);
    }
  } catch (const std::bad_alloc&) {
    own.found = fail(Code::memory, "series '{}': there is not enough memory for its description", name_);
  }
  if (!own.found) {
    agreement_.leave(own.found.status());
  }
  return std::move(own.found);
}

}  // namespace couplet::series
