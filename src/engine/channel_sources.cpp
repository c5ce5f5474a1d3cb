#include "engine/channel_sources.hpp"

namespace couplet::engine {

ChannelSources::ChannelSources(Engine& engine, channel::ChannelTable& table)
    : engine_(engine), table_(table), memory_(table), sockets_(table) {
  engine_.add(memory_, Rate::often);
  engine_.add(sockets_, Rate::seldom);
  table_.set_watcher(this);
}

ChannelSources::~ChannelSources() {
  table_.set_watcher(nullptr);
  engine_.remove(sockets_);
  engine_.remove(memory_);
}

}  // namespace couplet::engine
