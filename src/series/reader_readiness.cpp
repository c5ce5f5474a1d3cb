#include "series/reader_readiness.hpp"

#include <algorithm>

namespace couplet::series {

bool ReaderReadiness::look(Reader& reader, std::uint64_t at_least, bool losses) {
  const Status refusal;
  if (!reader.check_read({.at_least = at_least, .up_to = at_least, .outs = {}, .refusal = refusal}).ok()) {
    return true;
  }
  Reader::View view;
  if (!reader.note_sight(view).ok() || view.sight.ended || view.sight.published >= reader.selection_.target(at_least)) {
    return true;
  }
  if (!losses || reader.attachment_->find_lost(view.sight.published) == nullptr) {
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

ReaderReadiness::Wish ReaderReadiness::wish(Reader& reader, std::uint64_t at_least) {
  if (reader.attachment_ == nullptr) {
    return {};
  }
  const auto sight = reader.attachment_->look(false);
  if (!sight) {
    return {};
  }
  return {reader.attachment_->sources()[sight->limiting].part->watched(), reader.selection_.target(at_least)};
}

bool ReaderReadiness::unannounced(const Reader& reader) {
  if (reader.attachment_ == nullptr) {
    return false;
  }
  const auto& sources = reader.attachment_->sources();
  return std::any_of(sources.begin(), sources.end(), [](const Source& source) { return source.part->fetches(); });
}

}  // namespace couplet::series
