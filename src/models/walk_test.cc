// Tests the walk over a model's blocks with a builder that computes nothing. It numbers values, and
// records the values that every call reads and makes.
#include "models/walk.h"

#include <gtest/gtest.h>

#include "models/test_source.h"

namespace hearth {
namespace {

class BlockLister : public BlockBuilder {
 public:
  explicit BlockLister(const ModelSpec& spec) : spec_(spec) {}
  const std::vector<std::string>& lines() const { return lines_; }

  Reduced embed(const EmbeddingBlock& embedding, const std::optional<NormRef>& before) override {
    const Reduced made = next();
    lines_.push_back(fmt::format("{} = embed {}, norm {}", text(made), name(embedding.token),
                                 name(before ? before->weight : embedding.norm->weight)));
    return made;
  }
  Partials block(uint32_t layer, const Block& block, const Reduced& stream) override {
    Partials made{.tree = {{}, value(), AxisCuts(1, 1, shares_)}, .width = 0};
    constexpr const char* kKinds[] = {"attention",         "latent attention", "delta rule",
                                      "short convolution", "feed forward",     "experts",
                                      "per layer"};
    lines_.push_back(fmt::format("{} = {} of layer {} reads {}", made.tree.bundle.values[0],
                                 kKinds[block.body.index()], layer, stream.normed.values[0]));
    return made;
  }
  Reduced join(const Reduced& stream, const Partials& result, const Block& block,
               const Next& following) override {
    const Reduced made = next();
    const auto& after = block.norms.after;
    lines_.push_back(fmt::format("{} = join {} and {}{}{}{}", text(made), stream.x.values[0],
                                 result.tree.bundle.values[0],
                                 after ? ", after " + name(after->weight) : "",
                                 following.norm ? ", next " + name(following.norm->weight) : "",
                                 following.rows == RowSet::kOutputs ? ", of outputs" : ""));
    return made;
  }
  void logits(const Bundle& input, WeightId head) override {
    lines_.push_back(fmt::format("logits of {} by {}", input.values[0], name(head)));
  }

 private:
  Bundle value() { return {{values_++}, true}; }
  Reduced next() { return {value(), value()}; }
  static std::string text(const Reduced& made) {
    return fmt::format("x {}, normed {}", made.x.values[0], made.normed.values[0]);
  }
  const std::string& name(WeightId id) const { return spec_.weight(id).name; }

  const ModelSpec& spec_;
  std::vector<uint32_t> shares_ = {1};
  ValueId values_ = 0;
  std::vector<std::string> lines_;
};

std::vector<std::string> walked(TestSource source) {
  TestModel model(std::move(source));
  BlockLister lister(model.spec());
  walk_model(model.spec(), lister);
  return lister.lines();
}

TEST(Walk, ADecoderNormsBeforeItsBlocks) {
  EXPECT_EQ(walked(llama_source({.layers = 2, .tied = false})),
            (std::vector<std::string>{
                "x 0, normed 1 = embed token_embd.weight, norm blk.0.attn_norm.weight",
                "2 = attention of layer 0 reads 1",
                "x 3, normed 4 = join 0 and 2, next blk.0.ffn_norm.weight",
                "5 = feed forward of layer 0 reads 4",
                "x 6, normed 7 = join 3 and 5, next blk.1.attn_norm.weight",
                "8 = attention of layer 1 reads 7",
                "x 9, normed 10 = join 6 and 8, next blk.1.ffn_norm.weight",
                "11 = feed forward of layer 1 reads 10",
                "x 12, normed 13 = join 9 and 11, next output_norm.weight, of outputs",
                "logits of 13 by output.weight",
            }));
}

TEST(Walk, AnEncoderNormsAfterItsBlocks) {
  EXPECT_EQ(walked(encoder_source({})),
            (std::vector<std::string>{
                "x 0, normed 1 = embed token_embd.weight, norm token_embd_norm.weight",
                "2 = attention of layer 0 reads 1",
                "x 3, normed 4 = join 0 and 2, after blk.0.attn_output_norm.weight",
                "5 = feed forward of layer 0 reads 4",
                "x 6, normed 7 = join 3 and 5, after blk.0.layer_output_norm.weight, of outputs",
            }));
}

}  // namespace
}  // namespace hearth
