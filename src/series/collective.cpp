#include "series/collective.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <new>
#include <vector>

namespace couplet::series {
namespace {

constexpr std::string_view reader_rank = "reader rank";

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

}  // namespace

Status agree_on_status(message::Team& team, const Status& own, std::string_view kind, std::uint64_t deadline_ns) {
  return agree_on_minimum(team, own, kind, {}, deadline_ns);
}

Status agree_on_minimum(message::Team& team, const Status& own, std::string_view kind, std::span<std::int64_t> values,
                        std::uint64_t deadline_ns) {
  if (team.size() == 1) {
    return own;
  }
  try {
    std::vector<std::int64_t> words = {own.ok() ? 1 : 0};
    words.insert(words.end(), values.begin(), values.end());
    if (Status status = team.minimum(words, deadline_ns); !status.ok()) {
      return own.ok() ? status : own;
    }
    if (words.front() != 1) {
      return tell_failure(team, own, kind, deadline_ns);
    }
    std::copy(words.begin() + 1, words.end(), values.begin());
    return {};
  } catch (const std::bad_alloc&) {
    Status why = fail(Code::memory, "{} {}: no memory to agree with the others", kind, team.rank());
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
  return agree_on_minimum(team_, mine, reader_rank, values, deadline_ns);
}

void Agreement::leave(const Status& why) noexcept {
  if (!alone()) {
    std::array<char, 40> title{};
    const auto end = fmt::format_to_n(title.data(), title.size(), "{} {}", reader_rank, team_.rank());
    team_.leave(why.within({title.data(), end.out}));
  }
}

}  // namespace couplet::series
