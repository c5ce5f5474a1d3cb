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
  return agree_on_minimum(team, own, who, {}, deadline_ns);
}

Status agree_on_minimum(message::Team& team, const Status& own, std::string_view who, std::span<std::int64_t> values,
                        std::uint64_t deadline_ns) {
  if (team.size() == 1) {
    return own;
  }
  std::vector<std::int64_t> words = {own.ok() ? 1 : 0};
  words.insert(words.end(), values.begin(), values.end());
  if (Status status = team.minimum(words, deadline_ns); !status.ok()) {
    return own.ok() ? status : own;
  }
  if (words.front() != 1) {
    return tell_failure(team, own, who, deadline_ns);
  }
  std::copy(words.begin() + 1, words.end(), values.begin());
  return {};
}

Status Agreement::minimum(AgreementPoint point, const Status& own, std::span<std::int64_t> values,
                          std::uint64_t deadline_ns) {
  if (alone()) {
    return own;
  }
  const Status mine = own.ok() ? environment_.before_agreement(point) : own;
  return agree_on_minimum(team_, mine, "reader rank", values, deadline_ns);
}

}  // namespace couplet::series
