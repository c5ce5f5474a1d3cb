#include "connections/transport_set.hpp"

#include "base/assert.hpp"

namespace couplet::connections {

void TransportSet::add(std::unique_ptr<link::Transport> transport, bool in_use) {
  link::Transport* const added = transport.get();
  Entry& entry = *entries_.emplace_back(std::make_unique<Entry>(std::move(transport), in_use));
  bool descriptors = false;
  for (const EarlyWatch& early : early_watches_) {
    if (early.transport == added) {
      descriptors = true;
      static_cast<void>(engine_.watch(early.descriptor, early.write, entry));
    }
  }
  std::erase_if(early_watches_, [&](const EarlyWatch& early) { return early.transport == added; });
  engine_.add(entry, descriptors ? engine::Rate::seldom : engine::Rate::often);
}

void TransportSet::clear() {
  while (!entries_.empty()) {
    const auto last = std::move(entries_.back());
    entries_.pop_back();
    last->end();
    engine_.remove(*last);
  }
}

std::size_t TransportSet::index_of(const link::Transport& transport) const noexcept {
  std::size_t index = 0;
  while (index < entries_.size() && &entries_[index]->transport() != &transport) {
    ++index;
  }
  COUPLET_ASSERT(index < entries_.size());
  return index;
}

Status TransportSet::watch(link::Transport& transport, int descriptor, bool write) {
  for (const auto& entry : entries_) {
    if (&entry->transport() == &transport) {
      return engine_.watch(descriptor, write, *entry);
    }
  }
  early_watches_.push_back({&transport, descriptor, write});
  return {};
}

}  // namespace couplet::connections
