// A flag that is up while a scope lasts, also when it is left by an exception.
#pragma once

namespace couplet::channel {

class RaisedFlag {
 public:
  explicit RaisedFlag(bool& flag) noexcept : flag_(flag) { flag_ = true; }
  ~RaisedFlag() { flag_ = false; }
  RaisedFlag(const RaisedFlag&) = delete;
  RaisedFlag& operator=(const RaisedFlag&) = delete;

 private:
  bool& flag_;
};

}  // namespace couplet::channel
