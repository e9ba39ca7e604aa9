/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/asc_models.c: Tables IV and V of ASC-WFBP. */
#include "reproduce/asc.h"

const asc_model asc_models[ASC_MODELS] = {{"resnet152", "ResNet-152", 0.956, 0.710, 0.524, 17.5, 16.7},
                                          {"densenet201", "DenseNet-201", 0.778, 0.375, 0.314, 32.0, 22.3},
                                          {"inceptionv4", "Inception-v4", 0.719, 0.510, 0.377, 17.2, 16.1},
                                          {"bert_base", "BERT-Base", 1.010, 1.062, 0.924, 11.5, 10.6}};
