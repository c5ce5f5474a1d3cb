#include "series/collective.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

namespace couplet::series {
namespace {

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

// Some member has failed: the own status, or that of the first one that failed.
Status tell_failure(message::Team& team, const Status& own, std::string_view who, std::uint64_t deadline_ns) {
  auto texts = team.gather(encode(own), deadline_ns);
  if (!own.ok()) {
    return own;
  }
  if (!texts) {
    return texts.status();
  }
  for (std::size_t rank = 0; rank < texts->size(); ++rank) {
    if (Status status = decode((*texts)[rank]); !status.ok()) {
      return status.within(fmt::format("{} {}", who, rank));
    }
  }
  return fail(Code::internal, "a member of the team failed and would not say how");
}

}  // namespace

Status agree_on_status(message::Team& team, const Status& own, std::string_view who, std::uint64_t deadline_ns) {
  if (team.size() == 1) {
    return own;
  }
  std::int64_t fine = own.ok() ? 1 : 0;
  if (Status status = team.minimum({&fine, 1}, deadline_ns); !status.ok()) {
    return own.ok() ? status : own;
  }
  return fine == 1 ? Status() : tell_failure(team, own, who, deadline_ns);
}

Status Agreement::minimum(AgreementPoint point, const Status& own, std::span<std::int64_t> values,
                          std::uint64_t deadline_ns) {
  if (alone()) {
    return own;
  }
  const Status mine = own.ok() ? environment_.before_agreement(point) : own;
  words_.assign(1, mine.ok() ? 1 : 0);
  words_.insert(words_.end(), values.begin(), values.end());
  if (Status status = team_.minimum(words_, deadline_ns); !status.ok()) {
    return mine.ok() ? status : mine;
  }
  if (words_.front() != 1) {
    return tell_failure(team_, mine, "reader rank", deadline_ns);
  }
  std::copy(words_.begin() + 1, words_.end(), values.begin());
  return {};
}

}  // namespace couplet::series
