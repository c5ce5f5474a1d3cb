#include "series/reader_readiness.hpp"

#include <algorithm>

namespace couplet::series {

bool ReaderReadiness::look(Reader& reader, std::uint64_t at_least, bool losses) {
  const Status refusal;
  if (!reader.check_read({.at_least = at_least, .up_to = at_least, .outs = {}, .refusal = refusal}).ok()) {
    return true;
  }
  Reader::View view;
  if (!reader.note_sight(view).ok() || view.sight.published >= reader.selection_.target(at_least)) {
    return true;
  }
  if (losses && (!reader.agreement_.disturbed().ok() || reader.agreement_.is_broken_up())) {
    return true;
  }
  const bool may_wait = !view.sight.ended || view.sight.open.has_value();
  if (may_wait && (!losses || reader.end_.look(view.sight, *reader.attachment_) == Outlook::waiting)) {
    return false;
  }
  reader.next_look_ns_ = 0;  // the next read looks, too, even if it does not wait
  return true;
}

void ReaderReadiness::move(Reader& reader) {
  if (reader.attachment_ != nullptr) {
    static_cast<void>(reader.attachment_->poll());
  }
}

ReaderReadiness::Awaited ReaderReadiness::awaited(Reader& reader, std::uint64_t at_least) {
  if (reader.attachment_ == nullptr) {
    return {};
  }
  const auto sight = reader.attachment_->look(false);
  if (!sight) {
    return {};
  }
  const Source& awaited = reader.attachment_->sources()[sight->awaited()];
  return {awaited.part->watched(), sight->ended ? published_in(awaited) + 1 : reader.selection_.target(at_least)};
}

bool ReaderReadiness::unannounced(const Reader& reader) {
  if (reader.attachment_ == nullptr) {
    return false;
  }
  const auto& sources = reader.attachment_->sources();
  return std::any_of(sources.begin(), sources.end(), [](const Source& source) { return source.part->fetches(); });
}

}  // namespace couplet::series
