#include "series/series_end.hpp"

#include <algorithm>

#include "base/counted.hpp"
#include "os/clock.hpp"

namespace couplet::series {
namespace {

constexpr std::uint64_t patience_ns = 5'000'000'000;

const Source& farthest(const Attachment& attachment) noexcept {
  const auto& sources = attachment.sources();
  return *std::max_element(sources.begin(), sources.end(), [](const Source& one, const Source& other) {
    return published_in(one) < published_in(other);
  });
}

}  // namespace

Outlook common_outlook(const CommonSight& sight) noexcept {
  const bool ended = sight.ended == sight.published;
  const bool lost = sight.lost < INT64_MAX;
  if (sight.lost == sight.published || (lost && (sight.waiting || ended))) {
    return Outlook::lost;
  }
  if (ended && !(sight.waiting && sight.patient)) {
    return Outlook::ended;
  }
  return sight.waiting ? Outlook::waiting : Outlook::steps;
}

Outlook SeriesEnd::look(const Sight& sight, Attachment& attachment) {
  if (!sight.ended) {
    return attachment.find_lost(sight.published) == nullptr ? Outlook::waiting : Outlook::lost;
  }
  const bool still_patient = is_patient();
  if (!sight.open) {
    return Outlook::ended;
  }
  if (attachment.find_lost(max_ordinal) != nullptr) {
    return Outlook::lost;
  }
  return still_patient ? Outlook::waiting : Outlook::ended;
}

bool SeriesEnd::is_patient() {
  const std::uint64_t now_ns = os::now_ns();
  since_ns_ = since_ns_ == 0 ? now_ns : since_ns_;
  return now_ns - since_ns_ < patience_ns;
}

bool is_over(Attachment& attachment) {
  const auto sight = attachment.look(false);
  return sight && (sight->ended || attachment.find_lost(sight->published) != nullptr);
}

std::uint64_t most_published(const Attachment& attachment) noexcept {
  return std::min(published_in(farthest(attachment)), max_ordinal);
}

std::uint64_t last_step(const Attachment& attachment) noexcept {
  std::uint64_t last = max_ordinal;
  for (const Source& source : attachment.sources()) {
    const bool closed = source.file->control().published.closed.load(std::memory_order_acquire) != 0;
    const Relayed* const relayed = source.part->relayed();
    const bool gone = source.state == Source::State::lost && (relayed == nullptr || relayed->writer_gone);
    last = closed || gone ? std::min(last, published_in(source)) : last;  // what has not come will not come
  }
  return last;
}

Status uneven_end(const Attachment& attachment, std::uint64_t ended, std::uint64_t most, std::uint64_t lost) {
  const auto sight = attachment.look(false);
  const Source& ahead = farthest(attachment);
  const bool knows_behind = sight && sight->published == ended;
  const Source& behind = attachment.sources()[knows_behind ? sight->limiting : 0];
  const auto name = [](bool knows, const Source& source, const char* otherwise) {
    return knows ? fmt::format("writer rank {}", source.writer) : std::string(otherwise);
  };
  return fail(Code::mismatch, "{}: {} has ended it after {}, and {} has published {}; the {}", attachment.title(),
              name(knows_behind, behind, "one writer rank"), counted(ended, "step"),
              name(published_in(ahead) >= most, ahead, "another one"), most,
              counted(lost, "step that is not whole is lost", "steps that are not whole are lost"));
}

}  // namespace couplet::series
