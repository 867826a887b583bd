// SPDX-License-Identifier: Apache-2.0
// samara for Objective-C: models, sessions, pictures and answers.
//
//   NSError *error;
//   SMRModel *model = [[SMRModel alloc] initWithName:@"digits" bundle:nil error:&error];
//   SMRSession *session = [[SMRSession alloc] initWithModel:model error:&error];
//   for (SMRFinding *guess in [session predictImage:picture error:&error].findings) ...
//
// Methods that can fail return nil or NO and an NSError (SMRError.h); none raises.
#import "SMRAnswer.h"
#import "SMRError.h"
#import "SMRImage.h"
#import "SMRModel.h"
#import "SMRSession.h"
#import "SMRTensor.h"
